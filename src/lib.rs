//! Declare a GPU kernel once, transform it by checked steps, print it as CUDA C and run it.

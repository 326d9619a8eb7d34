static int overlap(uint64_t a, int64_t a_bytes, uint64_t b, int64_t b_bytes)
{
    return a_bytes > 0 && b_bytes > 0 && a < b + (uint64_t)b_bytes && b < a + (uint64_t)a_bytes;
}

/* Whether elements of an array have different places. Changes both lists. */
static int apart(int rank, int64_t *lengths, int64_t *strides)
{
    int count = 0;
    int64_t reach = 0, a, b;
    for (int k = 0; k < rank; ++k) {
        if (lengths[k] == 0) {
            return 1;
        }
    }
    /* The axes with several elements, by their strides. */
    for (int k = 0; k < rank; ++k) {
        const int64_t length = lengths[k], stride = strides[k];
        int j = count;
        if (length == 1) {
            continue;
        }
        for (; j > 0 && strides[j - 1] > stride; --j) {
            strides[j] = strides[j - 1];
            lengths[j] = lengths[j - 1];
        }
        strides[j] = stride;
        lengths[j] = length;
        ++count;
    }
    for (int k = 0; k < count; ++k) {
        if (strides[k] > reach) {
            reach += (lengths[k] - 1) * strides[k];
            continue;
        }
        if (count != 2 || strides[0] == 0) {
            return 0;
        }
        /* Two elements meet where a multiple of one stride is one of the other. */
        a = strides[1];
        b = strides[0];
        while (b != 0) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        return strides[1] / a >= lengths[0] || strides[0] / a >= lengths[1];
    }
    return 1;
}

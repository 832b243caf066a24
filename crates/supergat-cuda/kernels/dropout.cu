// Dropout masks: a value is kept if a random 16-bit number is at least `threshold`. Byte b depends on block b of the
// stream only.

// `own` selects the bits of the heads of a byte and `repeat` copies them to the other lanes of the heads: 0xFF and 1 if
// all eight bits are independent. A thread has four bytes.
extern "C" __global__ void __launch_bounds__(256) draw_mask(
    const word* __restrict__ clock, word tag, word threshold, word own, word repeat, wide bytes,
    byte* __restrict__ keep) {
    await_earlier_kernels();
    Stream stream(clock, tag);
    wide first = ((wide)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (first >= bytes) return;
    word four = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) four |= (((keep_byte(stream, first + k, threshold) & own) * repeat) & 0xFFu) << (8 * k);
    if (first + 4 <= bytes) {
        *(word*)(keep + first) = four;
        return;
    }
    for (int k = 0; first + k < bytes; ++k) keep[first + k] = (byte)(four >> (8 * k));
}

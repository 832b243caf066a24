// Seed and step, and what Adam needs of the step t = step + 1: 1 - b1^t and 1 / sqrt(1 - b2^t).
//
// Words: 0 and 1 seed, 2 step, 5 correction 1 / sqrt(1 - b2^t) in single precision, 6 and 7 1 - b1^t in double
// precision.

__device__ void write_step(unsigned* clock, unsigned step)
{
    double t = (double)step + 1.0;
    clock[2] = step;
    clock[5] = __float_as_uint((float)(1.0 / sqrt(1.0 - pow(0.999, t))));
    *(double*)(clock + 6) = 1.0 - pow(0.9, t);
}

extern "C" __global__ void set_step(unsigned* clock, unsigned step)
{
    await_earlier_kernels();
    write_step(clock, step);
}

extern "C" __global__ void advance(unsigned* clock)
{
    await_earlier_kernels();
    write_step(clock, clock[2] + 1);
}

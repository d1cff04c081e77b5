__device__ uint3 place;

__global__ void where(uint3* out)
{
    uint3 here;
    here = make_uint3(blockIdx.x, blockIdx.y, threadIdx.x);
    out[0] = make_uint3(here.x, 0, 0);
    place = here;
}

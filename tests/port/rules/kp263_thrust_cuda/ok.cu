#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

// thrust::cuda::par would do as well
void sort(thrust::device_vector<int> &v) { thrust::sort(thrust::device, v.begin(), v.end()); }

// innocent: a lane of a road
__global__ void drive(int* lanes, const int* cars, int n) {
  int lane = threadIdx.x;
  if (lane == 0) lanes[0] = n;
  if (lane < n) lanes[lane] = cars[lane] % 32;
}

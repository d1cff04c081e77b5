#include <hip/hip_runtime.h>

#include <new>

struct Node {
  int value;
  Node* next;
  __device__ Node(int v, Node* n) : value(v), next(n) {}
};

__global__ void lists(int* out, int n) {
  Node* head = nullptr;
  for (int i = 0; i < n; ++i) head = new Node(i, head);
  int sum = 0;
  while (head != nullptr) {
    Node* next = head->next;
    sum += head->value;
    delete head;
    head = next;
  }
  int* block = static_cast<int*>(malloc(16));
  if (block != nullptr) block[0] = sum;
  out[threadIdx.x] = block != nullptr ? block[0] : -1;
  free(block);
}

__global__ void placement(char* raw) { new (raw + threadIdx.x * sizeof(Node)) Node((int)threadIdx.x, nullptr); }

// numa: a machine without NUMA. By its manual nothing else may be asked for after this answer.
extern "C" {

int numa_available() { return -1; }
int numa_max_node() { return 0; }
}

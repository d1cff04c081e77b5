#include <tuple>
namespace thrust_like { namespace cuda { struct std_tag {}; } }
namespace torch { namespace cuda { int device_count(); } }
int devices() { return torch::cuda::device_count(); }
thrust_like::cuda::std_tag tag;  // cuda::std is not used

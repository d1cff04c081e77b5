import kernels
from mine.kernels import get_kernel

own = get_kernel("rbf")
if kernels.has_kernel("kernels-community/activation"):
    activation = kernels.get_kernel("kernels-community/activation")

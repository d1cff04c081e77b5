import GPUtil
import gpustat as stats
from nvitop import Device

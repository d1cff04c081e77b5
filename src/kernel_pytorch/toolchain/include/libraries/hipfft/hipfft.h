#pragma once
#include <hipfft/hipfftXt.h>

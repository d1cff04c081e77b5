#ifndef KPT_HALF_H
#define KPT_HALF_H

#include "hip_abi.h"

KPT_API float __gnu_h2f_ieee(unsigned short half);
KPT_API unsigned short __gnu_f2h_ieee(float value); /* to nearest, ties to even */

#endif

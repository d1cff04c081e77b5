/* The names between which Thrust's headers, and headers taken from it, put their code. Used where no Thrust is. */
#pragma once

#define THRUST_NS_QUALIFIER ::thrust
#define THRUST_NAMESPACE_BEGIN namespace thrust {
#define THRUST_NAMESPACE_END }

/* As the C library's, with an end that a kernel can have too. Read again at every #include, as that one is. */
#include "kpt/abi.h"
#undef assert
#ifdef NDEBUG
#define assert(e) ((void)0)
#else
#define assert(e) ((e) ? (void)0 : kpt_assert_failed(#e, __FILE__, __LINE__, __func__))
#endif

// min and max at global scope, as CUDA and HIP have them.
#ifndef KPT_MIN_MAX_H
#define KPT_MIN_MAX_H

#define KPT_MIN_MAX(T)                                                                                      \
  KPT_FN T min(T x, T y) { return y < x ? y : x; }                                                          \
  KPT_FN T max(T x, T y) { return x < y ? y : x; }
KPT_MIN_MAX(int)
KPT_MIN_MAX(unsigned int)
KPT_MIN_MAX(long)
KPT_MIN_MAX(unsigned long)
KPT_MIN_MAX(long long)
KPT_MIN_MAX(unsigned long long)
#undef KPT_MIN_MAX

KPT_FN float min(float x, float y) { return fminf(x, y); }
KPT_FN float max(float x, float y) { return fmaxf(x, y); }
KPT_FN double min(double x, double y) { return fmin(x, y); }
KPT_FN double max(double x, double y) { return fmax(x, y); }

namespace kpt {
// Two integers follow the usual conversions; a floating type among them follows C++'s math functions.
template <class A, class B, bool Integers> struct wider { typedef decltype(A() + B()) type; };
template <class A, class B> struct wider<A, B, false> { typedef typename promoted2<A, B>::type type; };
template <class A, class B>
using if_differ = typename enable_if<is_arithmetic<A>::value && is_arithmetic<B>::value && !is_same<A, B>::value,
                                     typename wider<A, B, is_integral<A>::value && is_integral<B>::value>::type>::type;
}  // namespace kpt

template <class A, class B> KPT_FN kpt::if_differ<A, B> min(A x, B y) {
  typedef kpt::if_differ<A, B> T;
  return min((T)x, (T)y);
}
template <class A, class B> KPT_FN kpt::if_differ<A, B> max(A x, B y) {
  typedef kpt::if_differ<A, B> T;
  return max((T)x, (T)y);
}

static inline __host__ int min(int x, int y) { return y < x ? y : x; }
static inline __host__ int max(int x, int y) { return x < y ? y : x; }

#endif  // KPT_MIN_MAX_H

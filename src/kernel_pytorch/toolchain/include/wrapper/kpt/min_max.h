// min and max at global scope, as CUDA and HIP have them.
#ifndef KPT_MIN_MAX_H
#define KPT_MIN_MAX_H

#define KPT_MIN_MAX(__T)                                                                                               \
    KPT_FN __T min(__T __x, __T __y) { return __y < __x ? __y : __x; }                                                 \
    KPT_FN __T max(__T __x, __T __y) { return __x < __y ? __y : __x; }
KPT_MIN_MAX(int)
KPT_MIN_MAX(unsigned int)
KPT_MIN_MAX(long)
KPT_MIN_MAX(unsigned long)
KPT_MIN_MAX(long long)
KPT_MIN_MAX(unsigned long long)
#undef KPT_MIN_MAX

KPT_FN float min(float __x, float __y) { return fminf(__x, __y); }
KPT_FN float max(float __x, float __y) { return fmaxf(__x, __y); }
KPT_FN double min(double __x, double __y) { return fmin(__x, __y); }
KPT_FN double max(double __x, double __y) { return fmax(__x, __y); }

namespace kpt {
// Two integers follow the usual conversions; a floating type among them follows C++'s math functions.
template <class __A, class __B, bool Integers> struct wider {
    typedef decltype(__A() + __B()) type;
};
template <class __A, class __B> struct wider<__A, __B, false> {
    typedef typename promoted2<__A, __B>::type type;
};
template <class __A, class __B>
using if_differ =
    typename enable_if<is_arithmetic<__A>::value && is_arithmetic<__B>::value && !is_same<__A, __B>::value,
                       typename wider<__A, __B, is_integral<__A>::value && is_integral<__B>::value>::type>::type;
} // namespace kpt

template <class __A, class __B> KPT_FN kpt::if_differ<__A, __B> min(__A __x, __B __y) {
    typedef kpt::if_differ<__A, __B> __T;
    return min((__T)__x, (__T)__y);
}
template <class __A, class __B> KPT_FN kpt::if_differ<__A, __B> max(__A __x, __B __y) {
    typedef kpt::if_differ<__A, __B> __T;
    return max((__T)__x, (__T)__y);
}

static inline __host__ int min(int __x, int __y) { return __y < __x ? __y : __x; }
static inline __host__ int max(int __x, int __y) { return __x < __y ? __y : __x; }

#endif // KPT_MIN_MAX_H

// Type traits that need no C++ library header: the device math comes before all of them.
#ifndef KPT_TRAITS_H
#define KPT_TRAITS_H

namespace kpt {

template <bool __C, class __T = void> struct enable_if {};
template <class __T> struct enable_if<true, __T> {
    typedef __T type;
};

template <class __T> struct bare {
    typedef __T type;
};
template <class __T> struct bare<const __T> {
    typedef __T type;
};
template <class __T> struct bare<volatile __T> {
    typedef __T type;
};
template <class __T> struct bare<const volatile __T> {
    typedef __T type;
};

template <class __T> struct is_integral {
    static const bool value = __is_integral(__T);
};
template <class __T> struct is_arithmetic {
    static const bool value = __is_integral(__T) || __is_floating_point(__T);
};
template <> struct is_arithmetic<_Float16> {
    static const bool value = false;
};
template <> struct is_arithmetic<__bf16> {
    static const bool value = false;
};
template <class __A, class __B> struct is_same {
    static const bool value = __is_same(__A, __B);
};

// C++'s rule for mixed arguments: integers count as double, otherwise the wider type wins.
template <class __T> struct promoted {
    typedef double type;
};
template <> struct promoted<float> {
    typedef float type;
};
template <class __A, class __B> struct promoted2 {
    typedef decltype(typename promoted<__A>::type() + typename promoted<__B>::type()) type;
};

template <class __T> using if_integral = typename enable_if<is_integral<__T>::value, double>::type;

// Mixed arguments only: equal floating types have overloads of their own.
template <class __A, class __B>
using if_mixed =
    typename enable_if<is_arithmetic<__A>::value && is_arithmetic<__B>::value &&
                           !(is_same<__A, __B>::value && (is_same<__A, float>::value || is_same<__A, double>::value)),
                       typename promoted2<__A, __B>::type>::type;

template <class __A, class __B, class __C>
using if_mixed3 =
    typename enable_if<is_arithmetic<__A>::value && is_arithmetic<__B>::value && is_arithmetic<__C>::value &&
                           !(is_same<__A, __B>::value && is_same<__B, __C>::value &&
                             (is_same<__A, float>::value || is_same<__A, double>::value)),
                       typename promoted2<__A, typename promoted2<__B, __C>::type>::type>::type;

} // namespace kpt

#endif // KPT_TRAITS_H

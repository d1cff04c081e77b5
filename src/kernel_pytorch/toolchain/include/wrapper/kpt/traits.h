// Type traits that need no C++ library header: the device math comes before all of them.
#ifndef KPT_TRAITS_H
#define KPT_TRAITS_H

namespace kpt {

template <bool C, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };

template <class T> struct bare { typedef T type; };
template <class T> struct bare<const T> { typedef T type; };
template <class T> struct bare<volatile T> { typedef T type; };
template <class T> struct bare<const volatile T> { typedef T type; };

template <class T> struct is_integral { static const bool value = __is_integral(T); };
template <class T> struct is_arithmetic { static const bool value = __is_integral(T) || __is_floating_point(T); };
template <> struct is_arithmetic<_Float16> { static const bool value = false; };
template <> struct is_arithmetic<__bf16> { static const bool value = false; };
template <class A, class B> struct is_same { static const bool value = __is_same(A, B); };

// C++'s rule for mixed arguments: integers count as double, otherwise the wider type wins.
template <class T> struct promoted { typedef double type; };
template <> struct promoted<float> { typedef float type; };
template <class A, class B> struct promoted2 {
  typedef decltype(typename promoted<A>::type() + typename promoted<B>::type()) type;
};

template <class T> using if_integral = typename enable_if<is_integral<T>::value, double>::type;

// Mixed arguments only: equal floating types have overloads of their own.
template <class A, class B>
using if_mixed =
    typename enable_if<is_arithmetic<A>::value && is_arithmetic<B>::value &&
                           !(is_same<A, B>::value && (is_same<A, float>::value || is_same<A, double>::value)),
                       typename promoted2<A, B>::type>::type;

template <class A, class B, class C>
using if_mixed3 =
    typename enable_if<is_arithmetic<A>::value && is_arithmetic<B>::value && is_arithmetic<C>::value &&
                           !(is_same<A, B>::value && is_same<B, C>::value &&
                             (is_same<A, float>::value || is_same<A, double>::value)),
                       typename promoted2<A, typename promoted2<B, C>::type>::type>::type;

}  // namespace kpt

#endif  // KPT_TRAITS_H

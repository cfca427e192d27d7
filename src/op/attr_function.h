// AttrFunction: a function of an operator's attributes among other arguments, made from one that takes them as the
// struct they are: `[](Infer& i, const SumAttrs& a) { ... }` makes an AttrFunction<void(Infer&, const Attrs&)>.
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "op/attrs.h"

namespace headrace {

namespace attr_function_detail {

template <class... P>
struct List {};

template <class R, class... P>
List<P...> parameters(R (*)(P...));
template <class R, class C, class... P>
List<P...> parameters(R (C::*)(P...) const);
template <class F>
auto parameters_of() {
  if constexpr (std::is_pointer_v<F>)
    return decltype(parameters(std::declval<F>())){};
  else
    return decltype(parameters(&F::operator())){};
}

// The struct that a function takes where the signature has `const Attrs&`.
template <class Wanted, class Taken>
struct AttrsType;
template <class W, class... Ws, class T, class... Ts>
struct AttrsType<List<W, Ws...>, List<T, Ts...>>
    : std::conditional_t<std::is_same_v<W, const Attrs&>, std::type_identity<std::remove_cvref_t<T>>,
                         AttrsType<List<Ws...>, List<Ts...>>> {};
template <>
struct AttrsType<List<>, List<>> {};

}  // namespace attr_function_detail

template <class Signature>
class AttrFunction;

template <class R, class... P>
class AttrFunction<R(P...)> {
 public:
  AttrFunction() = default;
  AttrFunction(std::nullptr_t) {}
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, AttrFunction>) AttrFunction(F f) {
    using Taken = decltype(attr_function_detail::parameters_of<F>());
    using A = typename attr_function_detail::AttrsType<attr_function_detail::List<P...>, Taken>::type;
    if constexpr (std::is_same_v<A, Attrs>) {
      call_ = std::move(f);
    } else {
      schema_ = &schema_of<A>();
      call_ = [f = std::move(f)](P... arguments) -> R { return f(typed<A>(std::forward<P>(arguments))...); };
    }
  }

  explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  R operator()(P... arguments) const { return call_(std::forward<P>(arguments)...); }
  // Of the attributes that it takes; null: any.
  const AttrSchema* schema() const noexcept { return schema_; }

 private:
  template <class A, class T>
  static decltype(auto) typed(T&& argument) {
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, Attrs>)
      return argument.template as<A>();
    else
      return std::forward<T>(argument);
  }

  std::function<R(P...)> call_;
  const AttrSchema* schema_ = nullptr;
};

}  // namespace headrace

#include "op/attrs.h"

#include <gtest/gtest.h>

#include "headrace/error.hpp"

namespace headrace {
namespace {

struct SampleAttrs {
  int64_t axis = -1;
  double scale = 0.5;
  bool keepdims = false;
  std::optional<Shape> shape = {};
  std::string mode = "clip";
  DType dtype = DType::kFloat32;
  static constexpr auto kFields = fields(
      field(&SampleAttrs::axis, "axis", "An axis."), field(&SampleAttrs::scale, "scale", "A factor.").required(),
      field(&SampleAttrs::keepdims, "keepdims", "A flag."), field(&SampleAttrs::shape, "shape", "A shape or None."),
      field(&SampleAttrs::mode, "mode", "A word.").one_of("clip|wrap"),
      field(&SampleAttrs::dtype, "dtype", "A dtype."));
};

AttrValue through(const char* name, const AttrValue& value) {
  AttrsOf<SampleAttrs> attrs;
  const FieldInfo& field = *attrs.schema().find(name);
  field.set(attrs.mutable_data(), value, field, "sample");
  return field.get(attrs.data());
}

TEST(Attrs, ValuesOfTheirKindAreKept) {
  EXPECT_EQ(through("axis", int64_t{3}), AttrValue(int64_t{3}));
  EXPECT_EQ(through("scale", 2.5), AttrValue(2.5));
  EXPECT_EQ(through("keepdims", true), AttrValue(true));
  EXPECT_EQ(through("shape", Shape{2, 3}), AttrValue(Shape{2, 3}));
  EXPECT_EQ(through("dtype", DType::kInt8), AttrValue(DType::kInt8));
}

TEST(Attrs, RelatedKindsAreConverted) {
  EXPECT_EQ(through("scale", int64_t{2}), AttrValue(2.0));
  EXPECT_EQ(through("axis", 4.0), AttrValue(int64_t{4}));
  EXPECT_EQ(through("keepdims", int64_t{1}), AttrValue(true));
  EXPECT_EQ(through("shape", int64_t{5}), AttrValue(Shape{5}));
  EXPECT_EQ(through("shape", std::monostate{}), AttrValue(std::monostate{}));
}

TEST(Attrs, TextsAsInSymbolFilesAreRead) {
  EXPECT_EQ(through("axis", std::string("-2")), AttrValue(int64_t{-2}));
  EXPECT_EQ(through("scale", std::string("1e-05")), AttrValue(1e-05));
  EXPECT_EQ(through("keepdims", std::string("True")), AttrValue(true));
  EXPECT_EQ(through("shape", std::string("(2, 3)")), AttrValue(Shape{2, 3}));
  EXPECT_EQ(through("shape", std::string("[4,5]")), AttrValue(Shape{4, 5}));
  EXPECT_EQ(through("dtype", std::string("float16")), AttrValue(DType::kFloat16));
}

TEST(Attrs, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(through("axis", 2.5), Error);
  EXPECT_THROW(through("axis", std::string("two")), Error);
  EXPECT_THROW(through("axis", std::monostate{}), Error);
  EXPECT_THROW(through("shape", std::string("(2, x)")), Error);
  EXPECT_THROW(through("dtype", std::string("float99")), Error);
  try {
    through("mode", std::string("bounce"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kValue);
    EXPECT_STREQ(error.what(), "sample: argument 'mode' must be one of clip, wrap; got 'bounce'");
  }
}

TEST(Attrs, TextFormsAreThoseOfSymbolFiles) {
  EXPECT_EQ(attr_to_text(Shape{3}), "(3,)");
  EXPECT_EQ(attr_to_text(Shape{2, 3}), "(2, 3)");
  EXPECT_EQ(attr_to_text(0.5), "0.5");
  EXPECT_EQ(attr_to_text(2.0), "2.0");
  EXPECT_EQ(attr_to_text(true), "True");
  EXPECT_EQ(attr_to_text(std::monostate{}), "None");
  EXPECT_EQ(attr_to_text(OptionalInts{1, std::nullopt}), "(1, None)");
}

TEST(Attrs, EqualityIsByValue) {
  AttrsPtr a = make_attrs(SampleAttrs{.axis = 1}), b = make_attrs(SampleAttrs{.axis = 1});
  EXPECT_TRUE(attrs_equal(*a, *b));
  EXPECT_FALSE(attrs_equal(*a, *make_attrs(SampleAttrs{.axis = 2})));
}

}  // namespace
}  // namespace headrace

#include "headrace/gluon/data.hpp"

#include <filesystem>

#include "base/check.h"
#include "gluon/idx.h"
#include "op/invoke.h"

namespace headrace::gluon::data {

ArrayDataset::ArrayDataset(NDArray data, NDArray label) : all_{std::move(data), std::move(label)} {
  check(all_.data && all_.label && all_.data.ndim() > 0 && all_.label.ndim() > 0, ErrorKind::kValue,
        "ArrayDataset: data and label must be arrays with samples along their first axis");
  check(all_.label.shape()[0] == size(), ErrorKind::kValue, "ArrayDataset: {} samples but {} labels", size(),
        all_.label.shape()[0]);
}

Batch ArrayDataset::take(const NDArray& rows) const {
  const auto taken = [&](const NDArray& array) {
    return call("take", {array, rows}, {{"mode", std::string("raise")}});
  };
  return {taken(all_.data), taken(all_.label)};
}

DataLoader::DataLoader(ArrayDataset dataset, int64_t batch_size, DataLoaderOptions options)
    : dataset_(std::move(dataset)), batch_size_(batch_size), options_(options) {
  check(batch_size > 0, ErrorKind::kValue, "DataLoader: batch_size must be positive, got {}", batch_size);
}

int64_t DataLoader::size() const {
  int64_t whole = dataset_.size() / batch_size_;
  return whole + (options_.keep_last && dataset_.size() % batch_size_ ? 1 : 0);
}

DataLoader::Iterator DataLoader::begin() const {
  NDArray order;
  if (size() > 0) {
    order =
        call("_arange", {}, {{"start", 0.0}, {"stop", static_cast<double>(dataset_.size())}, {"dtype", DType::kInt64}});
    if (options_.shuffle) order = call("_shuffle", {order});
  }
  return {this, std::move(order), 0};
}

Batch DataLoader::Iterator::operator*() const {
  int64_t begin = batch_ * loader_->batch_size_;
  int64_t end = std::min(begin + loader_->batch_size_, loader_->dataset_.size());
  return loader_->dataset_.take(call("slice_axis", {order_}, {{"axis", int64_t{0}}, {"begin", begin}, {"end", end}}));
}

namespace vision {
namespace {

NDArray read(const std::string& root, const std::string& name, size_t axes) {
  for (const char* ending : {".gz", ""}) {
    std::string path = (std::filesystem::path(root) / (name + ending)).string();
    if (std::filesystem::exists(path)) return read_idx(path, axes);
  }
  fail(ErrorKind::kOs,
       "no {0}.gz (or {0}) in {1}. Nothing is downloaded: put the four idx files of the data set there, or give the "
       "folder that has them",
       name, root);
}

NDArray read_images(const std::string& root, const std::string& stem) {
  NDArray images = read(root, stem + "-images-idx3-ubyte", 3);
  Shape shape = images.shape();
  shape.push_back(1);
  return call("_reshape_to", {images}, {{"shape", shape}});
}

const char* stem_of(bool train) { return train ? "train" : "t10k"; }

}  // namespace

MNIST::MNIST(const std::string& root, bool train)
    : ArrayDataset(read_images(root, stem_of(train)),
                   cast_to(read(root, std::string(stem_of(train)) + "-labels-idx1-ubyte", 1), DType::kInt32)) {}

}  // namespace vision
}  // namespace headrace::gluon::data

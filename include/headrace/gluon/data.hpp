// Data for training: sets of samples, and loaders that go through them in batches. Datasets do not change once made;
// loaders and their iterators belong to one thread at a time. Batches are gathered by the engine, ahead of their use.
#pragma once

#include <iterator>
#include <string>

#include "headrace/ndarray.hpp"

namespace headrace::gluon::data {

// Samples and their labels, as many of each: one batch, or all of a set.
struct Batch {
  NDArray data = {}, label = {};
};

class ArrayDataset {
 public:
  // Arrays with the samples along the first axis. ValueError: they have none, or different numbers of samples.
  ArrayDataset(NDArray data, NDArray label);

  int64_t size() const { return all_.data.shape()[0]; }
  const Batch& all() const noexcept { return all_; }
  // The samples at `rows`, an int64 array of one axis. IndexError, where the batch is read: there is no such row.
  Batch take(const NDArray& rows) const;

 private:
  Batch all_;
};

struct DataLoaderOptions {
  bool shuffle = false;   // a new order in every pass, from the generator that headrace::random::seed starts
  bool keep_last = true;  // whether the last batch may be smaller than the others; otherwise it is left out
};

// for (auto [images, labels] : loader) ...
class DataLoader {
 public:
  // ValueError: batch_size is not positive.
  DataLoader(ArrayDataset dataset, int64_t batch_size, DataLoaderOptions options = {});

  // Number of batches in one pass.
  int64_t size() const;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using reference = Batch;
    using pointer = void;
    Iterator() = default;
    Batch operator*() const;
    Iterator& operator++() {
      ++batch_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++batch_;
      return before;
    }
    bool operator==(const Iterator& other) const noexcept { return batch_ == other.batch_; }

   private:
    friend class DataLoader;
    Iterator(const DataLoader* loader, NDArray order, int64_t batch)
        : loader_(loader), order_(std::move(order)), batch_(batch) {}
    const DataLoader* loader_ = nullptr;
    NDArray order_;
    int64_t batch_ = 0;
  };
  Iterator begin() const;  // starts a new pass
  Iterator end() const { return {this, {}, size()}; }

 private:
  ArrayDataset dataset_;
  int64_t batch_size_;
  DataLoaderOptions options_;
};

namespace vision {

// Images from four idx files in `root`: {train,t10k}-{images-idx3,labels-idx1}-ubyte, with or without .gz. Data are
// uint8 (n, height, width, 1), labels int32 (n,). OSError: a file is missing or cannot be read. ValueError: it is
// damaged.
class MNIST : public ArrayDataset {
 public:
  explicit MNIST(const std::string& root, bool train = true);
};

// The handwritten digits that come with the Python package, 8 x 8: 1,500 to train on and 297 to test on.
class Digits : public MNIST {
 public:
  using MNIST::MNIST;
};

}  // namespace vision
}  // namespace headrace::gluon::data

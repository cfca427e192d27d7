// What comes on the stream between a worker and a server: src/distributed/connection.h, and the arrays within.
#include "distributed/connection.h"

#include "distributed/messages.h"
#include "op/invoke.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

using namespace distributed;

void read_array(const Array* array, const Elements& elements) {
  if (!array) return;
  accepts([&] { array_of(*array, elements).wait_to_read(); });
}

// The end of a stream that writes nowhere.
void receive(std::string_view bytes) {
  const auto connection = std::make_shared<Connection>([](const grpc::ByteBuffer*) {});
  connection->begin(std::make_shared<Loans>(OwnHeap::make()));
  const grpc::Slice slice(bytes.data(), bytes.size());
  accepts([&] {
    connection->receive(grpc::ByteBuffer(&slice, 1),
                        {.greeting = [&](const Greeting& greeting) { connection->hear(greeting); },
                         .request =
                             [](Request&& request, Elements&& elements) {
                               read_array(array_in(request), elements);
                               accepts([&] { key_of(request.push().place().key()); });
                             },
                         .reply = [](Reply&& reply, Elements&& elements) { read_array(array_in(reply), elements); }});
  });
}

std::string text_of(const Frame& frame, std::string_view elements) {
  const grpc::Slice slice(elements.data(), elements.size());
  std::vector<grpc::Slice> pieces;
  written(frame, {slice}).Dump(&pieces);
  std::string text;
  for (const grpc::Slice& piece : pieces) text.append(reinterpret_cast<const char*>(piece.begin()), piece.size());
  return text;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::shared_ptr<OwnHeap> heap = OwnHeap::make();
  Frame greeting, requests, replies, rows, elsewhere;
  for (Frame* frame : {&greeting, &requests, &replies, &rows, &elsewhere}) {
    frame->mutable_greeting()->set_protocol(kProtocol);
    frame->mutable_greeting()->mutable_held();
  }
  greeting.mutable_greeting()->mutable_caller()->add_unanswered(3);
  if (heap) *greeting.mutable_greeting()->mutable_heap() = heap->description();
  PushRequest& push = *requests.add_requests()->mutable_push();
  push.mutable_place()->mutable_key()->set_text("weight");
  set_type({2, 3}, DType::kFloat32, *push.mutable_value());
  push.mutable_value()->set_bytes(24);
  requests.add_requests()->mutable_pull()->mutable_place()->mutable_key()->set_number(7);
  Array& pulled = *replies.add_replies()->mutable_value();
  set_type({4}, DType::kFloat16, pulled);
  pulled.set_bytes(8);
  Array& sparse = *rows.add_replies()->mutable_value();
  set_type({5, 2}, DType::kFloat32, sparse);
  sparse.set_sparse(true);
  for (const int64_t row : {1, 4}) sparse.add_rows(row);
  sparse.set_bytes(16);
  elsewhere.add_requests()->mutable_push()->mutable_value()->set_place(4096);
  elsewhere.add_released(4096);
  return {text_of(greeting, ""), text_of(requests, std::string(24, '\1')), text_of(replies, "12345678"),
          text_of(rows, std::string(16, '\2')), text_of(elsewhere, "")};
}

}  // namespace headrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace::fuzz;
  receive(text_of(data, size));
  return 0;
}

#include "distributed/arrows.h"

#include <fmt/format.h>

#include "timeline/timeline.h"

namespace headrace::distributed {
namespace {

using Tell = void (*)(timeline::Label, uint64_t) noexcept;

void tell(const Message& message, Tell how) {
  const timeline::Label label(message.is_answer ? "answer" : "request", timeline::kMessage);
  how(label, timeline::message_number(
                 fmt::format("{} {} {} {}", message.server, message.incarnation, message.request, label.name)));
}

}  // namespace

void tell_sent(const Message& message) {
  if (timeline::enabled(timeline::kMessage.source)) [[unlikely]]
    tell(message, timeline::sent);
}

void tell_received(const Message& message) {
  if (timeline::enabled(timeline::kMessage.source)) [[unlikely]]
    tell(message, timeline::received);
}

}  // namespace headrace::distributed

#include "collective/agreement.h"

#include <algorithm>
#include <utility>

#include "collective/block.h"

namespace headrace::collective {

using What = Event::What;

namespace {

std::string ended_text(const std::optional<CallFailure>& failure) {
  return failure ? "has failed (" + failure->text + ")" : "has ended";
}

}  // namespace

Agreement::Agreement(int rank, int size)
    : rank_(rank),
      size_(size),
      ended_(static_cast<size_t>(size)),
      has_joined_(static_cast<size_t>(size)),
      gang_(size) {}

// --- blocks ----------------------------------------------------------------------------------------------------------

std::vector<std::byte> Agreement::block_of(std::span<const Event> events) const {
  BlockWriter writer;
  const auto put = [&](const std::string& text) {
    const auto known = numbers_.find(text);
    writer.put(known == numbers_.end() ? kUnknownText : known->second);
    if (known == numbers_.end()) writer.put_text(text);
  };
  for (const Event& event : events) {
    writer.put(event.what);
    put(event.name);
    if (event.what == What::kStated)
      writer.put_text(event.call);
    else
      put(event.call);
    writer.put(event.place);
    writer.put(event.urgency);
    writer.put(static_cast<uint8_t>(event.by_gang));
    writer.put_failure(event.failure);
  }
  return writer.take();
}

uint32_t Agreement::number_of(std::string_view text) {
  const auto [place, is_new] = numbers_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.emplace_back(text);
  return place->second;
}

Agreement::Stream& Agreement::stream_of(uint32_t name) {
  const auto [place, is_new] = streams_.try_emplace(name);
  if (is_new) place->second = {texts_[name], std::vector<std::deque<Call>>(static_cast<size_t>(size_))};
  return place->second;
}

void Agreement::hear(int rank, std::span<const std::byte> block) {
  if (rank == 0) {
    has_news_ = false;
    stalled_ = 0;
  }
  for (BlockReader reader(block); !reader.is_at_end();) hear_event(rank, reader);
}

void Agreement::hear_event(int rank, BlockReader& reader) {
  const auto what = reader.number<What>();
  const auto text = [&] {
    const auto number = reader.number<uint32_t>();
    if (number == kUnknownText) return number_of(reader.text());
    check(number < texts_.size(), ErrorKind::kRuntime, "distributed: rank {} told of a call that nobody knows", rank);
    return number;
  };
  const uint32_t name = text();
  Call told;
  if (what == What::kStated)
    told.stated = reader.text();
  else
    told.text = text();
  const auto place = reader.number<uint64_t>();
  const auto urgency = reader.number<int>();
  const bool by_gang = reader.number<uint8_t>() != 0;
  const std::optional<CallFailure> failure = reader.failure();
  has_news_ |= what != What::kStalled;
  if (what == What::kEnded) {
    ended_[static_cast<size_t>(rank)] = failure;
    return consider_all();
  }
  if (what == What::kFinished) {
    ++finished_;
    return;
  }
  if (what == What::kOffered || what == What::kConnected || what == What::kBroken)
    return hear_of_gang(rank, {.what = what, .name = texts_[name], .call = texts_[told.text], .failure = failure});
  if (what == What::kStalled) {
    ++stalled_;
    return;
  }
  if (what == What::kJoined) {
    has_joined_[static_cast<size_t>(rank)] = true;
    return;
  }
  Stream& stream = stream_of(name);
  std::deque<Call>& calls = stream.calls[static_cast<size_t>(rank)];
  stream.is_changed = true;
  if (what == What::kAnnounced || what == What::kStated) {
    has_joined_[static_cast<size_t>(rank)] = false;  // for the time being
    calls.push_back(std::move(told));
    return break_if_mismatched(stream, rank);
  }
  check(place >= stream.decided && place - stream.decided < calls.size(), ErrorKind::kRuntime,
        "distributed: rank {} is ready for a call that it has not made", rank);
  Call& ready = calls[place - stream.decided];
  ready.ready = true;
  ready.urgency = urgency;
  ready.by_gang = by_gang;
  ready.failure = failure;
}

// What was held back may go out now.
void Agreement::consider_all() noexcept {
  for (auto& [number, stream] : streams_) stream.is_changed = true;
}

void Agreement::hear_of_gang(int rank, const Event& event) {
  std::optional<std::string> why_not;
  if (event.failure) why_not = event.failure->text;
  if (event.what == What::kOffered)
    gang_.hear_offer(rank, event.name, event.call, why_not);
  else if (event.what == What::kConnected)
    gang_.hear_connection(rank, why_not);
  else
    is_gang_broken_ = true;
  if (is_gang_broken_) break_down(fmt::format("rank {}: {}", rank, why_not.value_or("")));
  consider_all();
}

// --- conclusions -----------------------------------------------------------------------------------------------------

const std::string& Agreement::text_of(const Stream& stream, int rank) const {
  return text_of(stream.calls[static_cast<size_t>(rank)].front());
}

void Agreement::break_down(std::string text) {
  if (!broken_) broken_ = CallFailure{ErrorKind::kRuntime, "distributed: " + std::move(text)};
}

// Calls of one name are the same on all ranks that have made them, of which the last one of `rank` is new.
void Agreement::break_if_mismatched(const Stream& stream, int rank) {
  const size_t place = stream.calls[static_cast<size_t>(rank)].size() - 1;
  const auto call_of = [&](int one) -> const Call& { return stream.calls[static_cast<size_t>(one)][place]; };
  const Call& made = call_of(rank);
  for (int other = 0; other < size_; ++other) {
    if (stream.calls[static_cast<size_t>(other)].size() <= place) continue;
    if (call_of(other).text == made.text && call_of(other).stated == made.stated) continue;
    const auto [lower, upper] = std::minmax(rank, other);
    return break_down(fmt::format("rank {} calls {}, but rank {} calls {}; all ranks must make the same calls", lower,
                                  text_of(call_of(lower)), upper, text_of(call_of(upper))));
  }
}

void Agreement::break_if_somebody_has_ended(Stream& stream) {
  const auto has_calls = [](const std::deque<Call>& calls) { return !calls.empty(); };
  const auto waiting = std::ranges::find_if(stream.calls, has_calls);
  if (waiting == stream.calls.end()) return;
  for (int rank = 0; rank < size_; ++rank) {
    const auto& ended = ended_[static_cast<size_t>(rank)];
    if (!ended || has_calls(stream.calls[static_cast<size_t>(rank)])) continue;
    const auto waits = static_cast<int>(waiting - stream.calls.begin());
    return break_down(
        fmt::format("rank {} {}, but rank {} calls {}", rank, ended_text(*ended), waits, text_of(stream, waits)));
  }
}

Decision Agreement::take(Stream& stream) {
  Decision made{.name = stream.name, .call = text_of(stream, rank_), .urgency = stream.calls[0].front().urgency};
  for (int rank = 0; rank < size_; ++rank) {
    std::deque<Call>& calls = stream.calls[static_cast<size_t>(rank)];
    Call& call = calls.front();
    made.urgency = std::max(made.urgency, call.urgency);
    if (call.failure && !made.failure)
      made.failure =
          CallFailure{call.failure->kind, fmt::format("{}: on rank {}: {}", made.call, rank, call.failure->text)};
    calls.pop_front();
  }
  ++stream.decided;
  return made;
}

// Of a call for which all are ready. None: it is not known yet.
std::optional<Decision::Way> Agreement::way_of(const Stream& stream) const {
  using Way = Decision::Way;
  const auto is_by_gang = [](const std::deque<Call>& calls) { return calls.front().by_gang; };
  const auto has_failed = [](const std::deque<Call>& calls) { return calls.front().failure.has_value(); };
  if (std::ranges::any_of(stream.calls, has_failed) || std::ranges::none_of(stream.calls, is_by_gang))
    return Way::kHost;
  if (!std::ranges::all_of(stream.calls, is_by_gang) || gang_.state() == GangAgreement::State::kRefused)
    return Way::kToHost;
  if (gang_.state() == GangAgreement::State::kConnected) return Way::kGang;
  return std::nullopt;
}

void Agreement::send_to_host(Stream& stream, std::vector<Decision>& decisions) {
  for (int rank = 0; rank < size_; ++rank) {
    Call& call = stream.calls[static_cast<size_t>(rank)].front();
    if (!std::exchange(call.by_gang, false)) continue;
    call.ready = false;
    if (rank == rank_) decisions.push_back({.name = stream.name, .call = text_of(call), .way = Decision::Way::kToHost});
  }
}

void Agreement::decide_stream(Stream& stream, std::vector<Decision>& decisions) {
  const auto is_ready = [](const std::deque<Call>& calls) { return !calls.empty() && calls.front().ready; };
  while (std::ranges::all_of(stream.calls, is_ready)) {
    const std::optional<Decision::Way> way = way_of(stream);
    if (!way) break;
    if (*way == Decision::Way::kToHost) {
      send_to_host(stream, decisions);
      break;
    }
    decisions.push_back(take(stream));
    decisions.back().way = *way;
  }
  break_if_somebody_has_ended(stream);
}

std::vector<Decision> Agreement::decide() {
  std::vector<Decision> decisions;
  for (auto& [number, stream] : streams_) {
    if (std::exchange(stream.is_changed, false) && !broken_) decide_stream(stream, decisions);
  }
  std::ranges::stable_sort(decisions, std::ranges::greater{}, &Decision::urgency);
  conclude_join();
  if (stalled_ == size_ && !has_news_ && !awaits_values())
    break_down("the ranks wait for each other: " + text_of_waits() + "; all ranks must make the same calls");
  return decisions;
}

bool Agreement::is_behind() const noexcept {
  return std::ranges::any_of(streams_, [&](const auto& one) {
    const auto& calls = one.second.calls;
    const size_t own = calls[static_cast<size_t>(rank_)].size();
    return std::ranges::any_of(calls, [own](const std::deque<Call>& others) { return others.size() > own; });
  });
}

void Agreement::conclude_join() {
  const auto has_joined = std::ranges::find(has_joined_, true), is_missing = std::ranges::find(has_joined_, false);
  if (has_joined == has_joined_.end()) return;
  for (int rank = 0; rank < size_; ++rank)
    if (const auto& ended = ended_[static_cast<size_t>(rank)])
      return break_down(fmt::format("rank {} {}, but rank {} has joined; all ranks must join", rank, ended_text(*ended),
                                    has_joined - has_joined_.begin()));
  const auto is_even = [](const auto& one) {
    const auto& calls = one.second.calls;
    return std::ranges::all_of(calls, [&](const std::deque<Call>& own) { return own.size() == calls[0].size(); });
  };
  if (is_missing != has_joined_.end() || !std::ranges::all_of(streams_, is_even)) return;
  has_joined_.assign(has_joined_.size(), false);
  ++joined_;
}

bool Agreement::awaits_values() const noexcept {
  return std::ranges::any_of(streams_, [](const auto& one) {
    return std::ranges::none_of(one.second.calls, [](const std::deque<Call>& calls) { return calls.empty(); });
  });
}

std::string Agreement::text_of_waits() const {
  constexpr size_t kMostNamed = 3;
  std::string text;
  for (int rank = 0; rank < size_; ++rank) {
    std::vector<std::string> calls;
    for (const auto& [number, stream] : streams_)
      if (!stream.calls[static_cast<size_t>(rank)].empty()) calls.push_back(text_of(stream, rank));
    const size_t more = calls.size() > kMostNamed ? calls.size() - kMostNamed : 0;
    calls.resize(calls.size() - more);
    text += fmt::format("{}rank {} {}", rank > 0 ? "; " : "", rank,
                        calls.empty() ? "calls nothing" : fmt::format("calls {}", fmt::join(calls, ", ")));
    if (more) text += fmt::format(" and {} more", more);
  }
  return text;
}

bool Agreement::all_have_ended() const noexcept {
  return std::ranges::all_of(ended_, [](const auto& one) { return one.has_value(); });
}

bool Agreement::somebody_has_ended() const noexcept {
  return std::ranges::any_of(ended_, [](const auto& one) { return one.has_value(); });
}

}  // namespace headrace::collective

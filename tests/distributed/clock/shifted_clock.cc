// A library to preload, whose wall clock a test sets forwards and backwards while a process runs: a file of the
// process's number, in the folder that CHAOS_CLOCKS names, has the nanoseconds by which it is ahead. Clocks that only
// go on stay as they are. Who waits for a moment of the wall clock does so by the shifted one, as the kernel would see
// to.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kSlice = 20'000'000;  // after which who waits looks at the clock again
constexpr unsigned kIsMonotonic = 2;    // in what the C library keeps of a condition

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

const std::atomic<int64_t>& shift() {
  static const std::atomic<int64_t> none{0};
  static const std::atomic<int64_t>* const own = [] {
    const char* const folder = std::getenv("CHAOS_CLOCKS");
    if (!folder) return &none;
    const std::string path = std::string(folder) + "/" + std::to_string(getpid());
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(int64_t)) != 0) return &none;
    void* const seen = mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return seen == MAP_FAILED ? &none : static_cast<const std::atomic<int64_t>*>(seen);
  }();
  return *own;
}

// The file is there from the beginning.
[[gnu::constructor]] void begin() { shift(); }

bool is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
timespec time_of(int64_t nanoseconds) {
  timespec time;
  time.tv_sec = nanoseconds / kSecond;
  time.tv_nsec = nanoseconds % kSecond;
  return time;
}

int64_t real_now() {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  timespec now;
  real(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}
int64_t now() { return real_now() + shift().load(std::memory_order_relaxed); }

// Waits by `wait`, which is given a moment of the real clock and says what came of it, until that is something else
// than `too_late` or the shifted clock has come to `deadline`.
template <class Wait>
int await(const timespec& deadline, int too_late, const Wait& wait) {
  while (true) {
    const int64_t left = nanoseconds(deadline) - now();
    const timespec slice = time_of(real_now() + std::clamp<int64_t>(left, 0, kSlice));
    const int result = wait(&slice);
    if (result != too_late || left <= kSlice) return result;
  }
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* time) {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  if (!is_wall(clock)) return real(clock, time);
  *time = time_of(now());
  return 0;
}

[[gnu::visibility("default")]] int gettimeofday(timeval* time, void*) {
  const int64_t present = now();
  time->tv_sec = present / kSecond;
  time->tv_usec = present % kSecond / 1000;
  return 0;
}

[[gnu::visibility("default")]] time_t time(time_t* time) {
  const time_t present = now() / kSecond;
  if (time) *time = present;
  return present;
}

[[gnu::visibility("default")]] int timespec_get(timespec* time, int base) {
  if (base == TIME_UTC) *time = time_of(now());
  return base == TIME_UTC ? base : 0;
}

[[gnu::visibility("default")]] int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                          clockid_t clock, const timespec* deadline) {
  static auto* const real =
      next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  if (!is_wall(clock)) return real(condition, mutex, clock, deadline);
  return await(*deadline, ETIMEDOUT, [&](const timespec* slice) { return real(condition, mutex, clock, slice); });
}

[[gnu::visibility("default")]] int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                          const timespec* deadline) {
  const bool is_monotonic = (condition->__data.__wrefs & kIsMonotonic) != 0;
  return pthread_cond_clockwait(condition, mutex, is_monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, deadline);
}

[[gnu::visibility("default")]] int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  static auto* const real = next<int(sem_t*, clockid_t, const timespec*)>("sem_clockwait");
  if (!is_wall(clock)) return real(semaphore, clock, deadline);
  return await(*deadline, ETIMEDOUT,
               [&](const timespec* slice) { return real(semaphore, clock, slice) == 0 ? 0 : errno; }) == 0
             ? 0
             : -1;
}

[[gnu::visibility("default")]] int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  return sem_clockwait(semaphore, CLOCK_REALTIME, deadline);
}

// Of all that pass here, waits of futexes until a moment of the wall clock are others.
[[gnu::visibility("default")]] long syscall(long number, ...) noexcept {
  static auto* const real = next<long(long, ...)>("syscall");
  va_list given;
  va_start(given, number);
  long arguments[6];
  for (long& one : arguments) one = va_arg(given, long);
  va_end(given);
  const auto call = [&](long deadline) {
    return real(number, arguments[0], arguments[1], arguments[2], deadline, arguments[4], arguments[5]);
  };
  const bool is_wait = number == SYS_futex && (arguments[1] & FUTEX_CLOCK_REALTIME) != 0 && arguments[3] != 0;
  if (!is_wait) return call(arguments[3]);
  const int error = await(*reinterpret_cast<const timespec*>(arguments[3]), ETIMEDOUT,
                          [&](const timespec* slice) { return call(reinterpret_cast<long>(slice)) == 0 ? 0 : errno; });
  errno = error;
  return error == 0 ? 0 : -1;
}

}  // extern "C"

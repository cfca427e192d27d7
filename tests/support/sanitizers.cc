// What test programs tell the sanitizers that they are built with, whoever starts them. The variables TSAN_OPTIONS and
// ASAN_OPTIONS come after it and win.
extern "C" {

const char* __tsan_default_options();  // NOLINT(bugprone-reserved-identifier): the name is the sanitizer's

const char* __tsan_default_options() {
  return "suppressions=" TSAN_SUPPRESSIONS " halt_on_error=1 second_deadlock_stack=1";
}

}  // extern "C"

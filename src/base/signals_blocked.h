// Signals are for the program's own threads: a thread that is started while this lives inherits the mask.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace headrace {

class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace headrace

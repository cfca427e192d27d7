// Signals are for the program's own threads: a thread that is started while this lives inherits the mask. What a thread
// does wrong itself comes through, so that handlers can tell where it was.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace headrace {

class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own_fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&blocked, own_fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace headrace

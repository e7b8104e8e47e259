// A backoff can be stored, so it contains no closure, neither for a policy nor for a job.
import CompositeOperations
import DurableOperations

func backoffs() {
  _ = JobOptions(backoff: .custom { .seconds($0) })  // error: for a job use another backoff
  _ = RetryPolicy(backoff: .custom { .seconds($0) })  // error: Set RetryPolicy.delays to the closure
  _ = JobBackoff.constant(.seconds(1))  // error: 'JobBackoff' has been renamed to 'Backoff'
}

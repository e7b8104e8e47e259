// A backoff can be stored, so it contains no closure, neither for a policy nor for a job.
import CompositeOperations
import DurableOperations

func backoffs() {
  _ = JobOptions(backoff: .custom { .seconds($0) })  // error: a job needs one of the others
  _ = RetryPolicy(backoff: .custom { .seconds($0) })  // error: Set RetryPolicy.delays to it
  _ = JobBackoff.constant(.seconds(1))  // error: 'JobBackoff' has been renamed to 'Backoff'
}

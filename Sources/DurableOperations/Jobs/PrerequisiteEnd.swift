/// How a prerequisite ended.
enum PrerequisiteEnd {
  case done
  /// Dead or cancelled: it may be retried.
  case failed
  case deleted
}

/// What has become of a prerequisite.
enum PrerequisiteEnd {
  case done
  /// Dead or cancelled: it may be retried.
  case failed
  case deleted
}

extension Duration {
  /// The duration as seconds with at most two decimals, such as `1.5 s`.
  var inSeconds: String {
    let hundredths = Int((self / .milliseconds(10)).rounded())
    let rest = hundredths % 100
    guard rest != 0 else { return "\(hundredths / 100) s" }
    return "\(hundredths / 100)." + (rest % 10 == 0 ? "\(rest / 10)" : "\(rest / 10)\(rest % 10)") + " s"
  }
}

import ExampleSupport
import Foundation

/// A picture that is made up, in a format that needs no compression: PPM, which picture viewers
/// show.
enum SamplePhoto {
  /// Writes a picture of `width` by three quarters of that pixels.
  static func write(to path: String, number: Int, width: Int) throws {
    let height = width * 3 / 4
    var bytes = Array("P6\n\(width) \(height)\n255\n".utf8)
    bytes.reserveCapacity(bytes.count + width * height * 3)
    var random = SplitMix(seed: UInt64(number))
    // A line of noise in colour, moved on and made lighter from line to line.
    let noise = (0..<width).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    for row in 0..<height {
      let light = UInt8(row * 255 / height)
      let line = [UInt8](unsafeUninitializedCapacity: width * 3) { line, count in
        var column = 0
        while column < width {
          let grain = noise[(column &+ row) % width]
          line[column &* 3] = light
          line[column &* 3 &+ 1] = grain
          line[column &* 3 &+ 2] = number == 1 ? 255 &- light : grain ^ light
          column &+= 1
        }
        count = width * 3
      }
      bytes += line
    }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}

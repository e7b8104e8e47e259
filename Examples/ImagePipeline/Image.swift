/// Grey pixels, row by row.
struct Image: Sendable {
  let width: Int
  let height: Int
  var pixels: [UInt8]

  /// An image that differs with the seed: soft blobs, and some noise.
  init(width: Int, height: Int, seed: UInt64) {
    self.width = width
    self.height = height
    var state = seed | 1
    pixels = (0..<width * height).map { place in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let (x, y) = (place % width, place / width)
      let wave = (x &* x / 97 &+ y &* y / 61 &+ Int(seed % 251)) & 0xFF
      return UInt8((wave & 0xF0) | Int(state >> 62))
    }
  }

  private init(width: Int, height: Int, pixels: [UInt8]) {
    self.width = width
    self.height = height
    self.pixels = pixels
  }

  /// The image in a fraction of the size: each pixel the mean of a square.
  func scaledDown(by factor: Int) -> Image {
    let (newWidth, newHeight) = (max(1, width / factor), max(1, height / factor))
    var result = [UInt8](repeating: 0, count: newWidth * newHeight)
    for y in 0..<newHeight {
      for x in 0..<newWidth {
        var sum = 0
        for row in y * factor..<(y + 1) * factor {
          for column in x * factor..<(x + 1) * factor { sum += Int(pixels[row * width + column]) }
        }
        result[y * newWidth + x] = UInt8(sum / (factor * factor))
      }
    }
    return Image(width: newWidth, height: newHeight, pixels: result)
  }

  /// The pixels as runs: how often, and which.
  func compressed() -> [UInt8] {
    var runs: [UInt8] = []
    var place = 0
    while place < pixels.count {
      let pixel = pixels[place] & 0xF8
      var length = 1
      while length < 255, place + length < pixels.count, pixels[place + length] & 0xF8 == pixel { length += 1 }
      runs += [UInt8(length), pixel]
      place += length
    }
    return runs
  }

  /// A fingerprint (FNV-1a).
  var fingerprint: UInt64 {
    pixels.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

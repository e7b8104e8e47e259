#if os(Linux) || os(Android)
/// The numbers of libcurl's options.
enum CurlOption {
  static let writeData: Int32 = 10001
  static let url: Int32 = 10002
  static let proxy: Int32 = 10004
  static let readData: Int32 = 10009
  static let errorBuffer: Int32 = 10010
  static let headerFields: Int32 = 10023
  static let headerData: Int32 = 10029
  static let method: Int32 = 10036
  static let certificateAuthorities: Int32 = 10065
  static let socketData: Int32 = 10149
  static let seekData: Int32 = 10168
  static let proxyUser: Int32 = 10175
  static let proxyPassword: Int32 = 10176
  static let noProxy: Int32 = 10177
  static let pinnedPublicKey: Int32 = 10230
  static let lookupData: Int32 = 10273
  static let requestData: Int32 = 10313
  static let protocols: Int32 = 10318
  static let writeFunction: Int32 = 20011
  static let readFunction: Int32 = 20012
  static let headerFunction: Int32 = 20079
  static let noBody: Int32 = 44
  static let upload: Int32 = 46
  static let freshConnection: Int32 = 74
  static let httpVersion: Int32 = 84
  static let bufferSize: Int32 = 98
  static let noSignal: Int32 = 99
  static let authentication: Int32 = 107
  static let connectTimeout: Int32 = 156
  static let contentDecoding: Int32 = 158
  static let protocolMask: Int32 = 181
  static let http09Allowed: Int32 = 285
  static let suppressConnectHeaders: Int32 = 265
  static let waitForConnection: Int32 = 237
  static let quickExit: Int32 = 322
  static let uploadSize: Int32 = 30115
}

/// Which directions of a transfer go on.
struct CurlPauses {
  var isReceiving = true
  var isSending = true

  /// The bits for libcurl: what is paused.
  var bits: Int32 { (isReceiving ? 0 : 1) | (isSending ? 0 : 4) }
}

/// How a transfer ended.
struct CurlResult: Equatable {
  let code: Int32
}
#endif

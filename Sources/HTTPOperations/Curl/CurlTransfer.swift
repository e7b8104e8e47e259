#if os(Linux) || os(Android)
import CompositeOperations
import CompositeOperationsCurl
import Foundation
import FoundationNetworking

/// One hop of a request, made by libcurl.
///
///     new ──resume──▶ waiting ──its turn──▶ running ──libcurl says so──▶ ended
///      │                 └──────cancel─────────┴─────────cancel─────────▲
///      └─────────────────────────────cancel─────────────────────────────┘
///
/// libcurl calls it on the queue of the connections, between its beginning and its end. What goes
/// to a file is unpacked and written on a queue for that; as long as too much waits there, libcurl
/// receives no more of it. An upload is paused in the same way. libcurl does not end a transfer
/// that is paused, so as soon as there is an answer, a paused upload goes on again and again: the
/// answer may be whole, and the rest of the upload not wanted.
///
/// libcurl would wait for a name that is being looked up, and the other requests with it, if the
/// transfer were taken from it in the meantime. So one that is cancelled then is left to it, and
/// keeps its place in the line of the server until it is to connect: a name service that does not
/// answer is asked by as many at once as there may be connections.
final class CurlTransfer: HTTPHop, @unchecked Sendable {  // what is no constant is touched on the connections' queue
  private enum Phase {
    case new, waiting, running, ended
  }

  let server: CurlServer
  /// Whether no other request may be on its connection.
  let needsOwnConnection: Bool
  private let request: URLRequest
  private let options: HTTPOptions
  private let idleTimer: IdleTimer?
  private let settings: CurlSettings
  private let exchange: any HTTPHopOwner

  private var phase = Phase.new
  private var handle: CurlHandle?
  private var upload: CurlUpload?
  private var parser: HTTPHeadParser
  /// Whether the last request that was sent has been answered.
  private var hasAnswer = false
  /// How many requests were sent since the last answer, such as one that asks for a password.
  private var unanswered = 0
  private var body: CurlBody?
  /// Where the body is taken, if it goes to a file or is packed.
  private var disk: DiskQueue?
  private var cookieField: String?
  private var setsCookies = false
  private var pauses = CurlPauses()
  /// Whether a paused upload is about to go on, to see whether the answer has ended it.
  private var isAboutToGoOn = false
  /// What the answer did wrong, or that the exchange had enough of it.
  private var ownEnd: HTTPHopEnd?
  private var hasSocket = false
  private var isLookingUp = false

  init(
    _ request: URLRequest, uploading upload: HTTPUpload?, options: HTTPOptions, idleTimer: IdleTimer?,
    in settings: CurlSettings, for exchange: any HTTPHopOwner
  ) {
    self.request = request
    server = CurlServer(of: request.url)
    let upload = CurlUpload(of: request, uploading: upload, on: settings.connections.queue)
    self.upload = upload
    // A disk that is slow makes libcurl pause, which would stop all that share the connection.
    needsOwnConnection = exchange.isDownload || CurlSettings.needsFreshConnection(request, upload)
    self.options = options
    self.idleTimer = idleTimer
    self.settings = settings
    self.exchange = exchange
    parser = HTTPHeadParser(limit: options.maxHeaderSize)
  }

  // MARK: - From the exchange

  func resume() {
    settings.findCookies(for: request) { field in
      self.settings.connections.queue.async {
        self.cookieField = field
        self.enter()
      }
    }
  }

  func cancel() {
    settings.connections.queue.async { self.stop() }
  }

  private func enter() {
    guard phase == .new else { return }
    guard upload?.isOwn != false else { return end(.failed(.invalidRequest, HTTPRequestCheck.usedStream)) }
    phase = .waiting
    settings.connections.enter(self)
  }

  /// It is its turn. From the connections.
  func begin() {
    guard phase == .waiting else { return settings.connections.leave(self) }
    phase = .running
    idleTimer?.start { [weak self] in
      if let self, let idleTimer { exchange.idled(for: idleTimer.limit, self) }
    }
    guard settings.canSendHeader(of: request, cookieField, upload) else {
      return end(.failed(.invalidRequest, "its header has more than the mebibyte that libcurl sends"))
    }
    guard let handle = CurlHandle() else { return end(.failed(.other, "there is no memory for it")) }
    self.handle = handle
    guard settings.prepare(handle, for: request, cookieField, upload, options, isDownload: exchange.isDownload) else {
      return end(.failed(.insecureConnection, "this libcurl cannot look at the keys of servers"))
    }
    prepareCallbacks(of: handle)
    upload?.whenReady = { [weak self] in self?.resume(\.isSending) }
    upload?.readAhead()
    if !settings.connections.add(self, handle) { end(.failed(.other, "libcurl does not take it")) }
  }

  private func stop(with end: HTTPHopEnd = .cancelled) {
    guard phase != .ended else { return }
    if phase == .waiting, settings.connections.withdraw(self) { phase = .new }
    let abandoned = isLookingUp ? handle : nil
    if let handle, abandoned == nil { settings.connections.remove(handle) }
    close(keepingPlace: abandoned != nil)
    // The connections know it still.
    handle = abandoned
    guard setsCookies, end.isOfAnswer else { return exchange.ended(end, by: self) }
    settings.cookieQueue.async { [exchange] in exchange.ended(end, by: self) }
  }

  // MARK: - From libcurl

  /// The connections no longer know the transfer.
  func ended(_ result: CurlResult) {
    guard phase != .ended else {
      handle = nil
      return settings.connections.leave(self)
    }
    let text = handle?.errorText ?? ""
    let (ownEnd, body, hasAnswer) = (ownEnd, body, hasAnswer)
    let proxy = hasAnswer ? nil : settings.nameOfProxy(for: request)
    let tell: @Sendable () -> Void = { [exchange] in
      let end = result.end(hasAnswer: hasAnswer, isWhole: body?.isWhole ?? true, text: text).naming(proxy)
      exchange.ended(ownEnd ?? body?.end ?? end, by: self)
    }
    close()
    let (disk, cookies) = (disk, setsCookies ? settings.cookieQueue : nil)
    let tellAfterBody: @Sendable () -> Void = { if let disk { disk.add(0, tell) } else { tell() } }
    // The cookies are stored before the answer is reported.
    if let cookies { cookies.async(execute: tellAfterBody) } else { tellAfterBody() }
  }

  private func end(_ end: HTTPHopEnd) {
    close()
    exchange.ended(end, by: self)
  }

  private func close(keepingPlace: Bool = false) {
    // A transfer that has its turn, and has not begun, passes it on.
    if phase == .running, !keepingPlace { settings.connections.leave(self) }
    phase = .ended
    (handle, upload, body) = (nil, nil, nil)
    idleTimer?.stop()
  }

  private func prepareCallbacks(of handle: CurlHandle) {
    let own = Unmanaged.passUnretained(self).toOpaque()
    handle.setPointer(CurlOption.headerData, own)
    handle.setBytes(CurlOption.headerFunction) { bytes, _, count, context in
      CurlTransfer.from(context).read(line: UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
    }
    handle.setPointer(CurlOption.writeData, own)
    handle.setBytes(CurlOption.writeFunction) { bytes, _, count, context in
      CurlTransfer.from(context).read(body: UnsafeRawBufferPointer(start: bytes, count: count))
    }
    handle.setPointer(CurlOption.lookupData, own)
    handle.setLookup { _, _, context in CurlTransfer.from(context).looksUp() ? 0 : 1 }
    handle.setPointer(CurlOption.socketData, own)
    handle.setSocket { context, descriptor, _ in
      // A child process must not keep it open. libcurl only prevents that from 8 on.
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return CurlTransfer.from(context).connects() ? 0 : 1
    }
    handle.setPointer(CurlOption.requestData, own)
    handle.setRequest { context, _, _, _, _ in CurlTransfer.from(context).asks() ? 0 : 1 }
    guard upload != nil else { return }
    handle.setPointer(CurlOption.readData, own)
    handle.setBytes(CurlOption.readFunction) { bytes, size, count, context in
      let room = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
      return CurlTransfer.from(context).send(into: room)
    }
    handle.setPointer(CurlOption.seekData, own)
    handle.setSeek { context, offset, _ in CurlTransfer.from(context).rewind(to: offset) ? 0 : 1 }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
    Unmanaged.fromOpaque(context!).takeUnretainedValue()
  }

  /// What callbacks return to end the transfer: the callback that reads the body to send, and the
  /// callback that takes the body of the answer, whose pieces are never empty.
  private static let (abortSending, abortReceiving) = (0x1000_0000, 0)
  /// What a callback returns to be called again later.
  private static let pause = 0x1000_0001
  /// How long an upload stays paused when there is an answer.
  private static let timeOfPause = DispatchTimeInterval.milliseconds(50)

  // MARK: - Connecting

  /// The name of the server is being looked up. False to end the transfer.
  private func looksUp() -> Bool {
    isLookingUp = !hasSocket
    return phase == .running
  }

  /// There is a socket to connect. False to end the transfer.
  private func connects() -> Bool {
    (hasSocket, isLookingUp) = (true, false)
    return phase == .running
  }

  // MARK: - Asking

  /// A request is about to be sent. False to end the transfer.
  ///
  /// It is the first one, or another one with a password that was asked for, or the same one again,
  /// after a kept connection was closed. Before 7.80 libcurl does not tell.
  private func asks() -> Bool {
    guard phase == .running else { return false }
    hasAnswer = false
    unanswered += 1
    // If it is sent again, then not on another kept connection, which may have been closed, too.
    if unanswered == 1, mayBeSentAgain { handle?.set(CurlOption.freshConnection, 1) }
    if unanswered == 1 || unanswered == 2 && mayBeSentAgain { return true }
    ownEnd = HTTPHopEnd.failed(.connectionLost, nil).naming(settings.nameOfProxy(for: request))
    return false
  }

  /// Whether a request without an answer may be sent again: its method allows it, or it has a body,
  /// and libcurl has not taken any of it.
  private var mayBeSentAgain: Bool {
    request.mayBeRepeated || upload.map { $0.offset == 0 && $0.length != 0 } ?? false
  }

  // MARK: - Pausing

  /// There is room for more of the answer, or there is more to send. On the queue.
  private func resume(_ direction: WritableKeyPath<CurlPauses, Bool>) {
    guard phase == .running, let handle, !pauses[keyPath: direction] else { return }
    pauses[keyPath: direction] = true
    idleTimer?.restart()
    settings.connections.go(on: handle, pauses)
  }

  /// The upload is paused, and there is an answer.
  private func goOnSoon() {
    guard !isAboutToGoOn else { return }
    isAboutToGoOn = true
    settings.connections.queue.asyncAfter(deadline: .now() + CurlTransfer.timeOfPause) { [weak self] in
      guard let self else { return }
      isAboutToGoOn = false
      guard phase == .running, let handle, !pauses.isSending else { return }
      pauses.isSending = true
      settings.connections.go(on: handle, pauses)
    }
  }

  // MARK: - The answer

  /// A line of the header. False to end the transfer.
  private func read(line: UnsafeRawBufferPointer) -> Bool {
    idleTimer?.restart()
    guard phase == .running else { return false }
    do throws(HTTPHeadParser.Mistake) {
      let head = try parser.take(line)
      hasAnswer = parser.hasEnded
      if let head { try answered(head) }
      return true
    } catch {
      ownEnd =
        switch error {
        case .tooLarge: .failed(.headerTooLarge, "more than \(options.maxHeaderSize) bytes")
        case .malformed(let what): .failed(.malformedAnswer, HarmlessText.line(what))
        }
      return false
    }
  }

  private func answered(_ head: HTTPHeadParser.Head) throws(HTTPHeadParser.Mistake) {
    unanswered = 0
    if !needsOwnConnection { settings.connections.setShared(head.isMultiplexed, like: self) }
    setsCookies = settings.keep(head.cookies, from: request) || setsCookies
    var unpacker: BodyUnpacker?
    if let codings = head.headers["Content-Encoding"] {
      do {
        unpacker = try BodyUnpacker(codings)
      } catch {
        throw .malformed("its body is packed more than \(BodyUnpacker.mostCodings) times")
      }
    }
    disk = exchange.responded(
      HTTPExchangeState.Answer(
        url: request.url, status: head.status, headers: head.headers,
        // The length of a packed body says nothing about the unpacked length.
        length: unpacker == nil ? head.length : nil), from: self)
    // A short packed body may become a long one, which takes time.
    if disk == nil, unpacker != nil { disk = DiskQueue(room: max(1 << 20, options.maxBodySize)) }
    body = CurlBody(unpacker) { [exchange, unowned self] in exchange.received($0, from: self) }
    if !pauses.isSending { goOnSoon() }
  }

  /// A piece of the body. Returns how much of it was taken.
  private func read(body bytes: UnsafeRawBufferPointer) -> Int {
    idleTimer?.restart()
    guard phase == .running, let body else { return CurlTransfer.abortReceiving }
    guard let disk else {
      ownEnd = body.take(bytes)
      return ownEnd == nil ? bytes.count : CurlTransfer.abortReceiving
    }
    let queue = settings.connections.queue
    let hasRoom = disk.hasRoom { [weak self] in
      queue.async { [weak self] in self?.resume(\.isReceiving) }
    }
    guard hasRoom else {
      guard exchange.isDownload else {
        // A pause would stop all other requests on the connection.
        ownEnd = .failed(.bodyTooLarge, "more than \(options.maxBodySize) bytes of it came before they were unpacked")
        return CurlTransfer.abortReceiving
      }
      pauses.isReceiving = false
      return CurlTransfer.pause
    }
    let data = Data(bytes)
    disk.add(data.count) {
      guard body.end == nil, let end = data.withUnsafeBytes(body.take) else { return }
      queue.async { self.stop(with: end) }
    }
    return bytes.count
  }

  // MARK: - The body to send

  private func send(into room: UnsafeMutableRawBufferPointer) -> Int {
    guard phase == .running else { return CurlTransfer.abortSending }
    guard let upload else { return 0 }
    switch upload.read(into: room) {
    case .bytes(let count):
      idleTimer?.restart()
      if let length = upload.length { exchange.sent(upload.offset, of: length, by: self) }
      return count
    case .later:
      pauses.isSending = false
      if hasAnswer { goOnSoon() }
      return CurlTransfer.pause
    case .failed(let error):
      ownEnd = .threw(HTTPError(.unreadableFile, url: upload.file ?? request.url, cause: error))
      return CurlTransfer.abortSending
    }
  }

  /// libcurl wants to send the body again: because a password is asked for, or on another
  /// connection, after a kept one was closed. Then it is not known whether the server has read the
  /// body, so a request that must not be repeated is not.
  private func rewind(to offset: Int64) -> Bool {
    guard let upload else { return false }
    if upload.offset > 0, !hasAnswer, !request.mayBeRepeated { return false }
    guard upload.rewind(to: offset) else { return false }
    // The answer was to the request before.
    hasAnswer = false
    return true
  }
}
#endif

import CompositeOperations
import Foundation
import SwiftUI

// As in a new project of Xcode 26: everything belongs to the main actor unless it says
// `nonisolated`.

/// Measures the pages at some addresses. What the view shows is here.
@Observable
final class PageSizes {
  struct Row: Identifiable {
    let url: URL
    var text = "…"
    var isMissing = true

    var id: URL { url }
  }

  private(set) var rows: [Row]
  private(set) var fraction = 0.0
  /// What is under way.
  private var measuring: CompositeOperation?

  var isMeasuring: Bool { measuring != nil }

  init(of urls: [URL]) {
    rows = urls.map { Row(url: $0) }
  }

  /// Measures the pages that are missing, three at a time, and returns when all have ended.
  ///
  /// Cancelling the task that waits here cancels what is under way: `run()` does that.
  func measure() async {
    let missing = rows.indices.filter { rows[$0].isMissing }
    let pages = missing.map { index in pageSize(at: rows[index].url) }
    let all = CompositeOperation(operations: pages)
    all.failurePolicy = .waitForAll  // one page that fails does not end the others
    all.maxConcurrentOperationCount = 3
    (measuring, fraction) = (all, 0)
    let events = all.events()

    async let end = try? all.run()
    // Read on the main actor, so what the view shows can be set directly. The stream ends when all
    // have ended.
    for await event in events {
      if measuring === all, let fraction = event.fractionCompleted { self.fraction = fraction }
    }
    _ = await end
    guard measuring === all else { return }  // the view came back, and asks anew

    // A partial failure: each page has an outcome of its own.
    for (index, page) in zip(missing, pages) {
      switch page.outcome {
      case .success(let size): (rows[index].text, rows[index].isMissing) = ("\(size) bytes", false)
      case .failure(let error): rows[index].text = error.localizedDescription
      case .cancelled, nil: rows[index].text = "cancelled"
      }
    }
    measuring = nil
  }

  func cancel() {
    measuring?.cancel()
  }
}

/// The number of bytes of a page. Asked for up to three times; runs off the main actor.
nonisolated func pageSize(at url: URL) -> SimpleOperation<Int> {
  retrying(RetryPolicy(maxAttempts: 3)) { _ in
    AsyncOperation { try await URLSession.shared.data(from: url).0.count }
  }
}

struct PageSizesView: View {
  @State private var model = PageSizes(of: [URL(string: "https://swift.org")!, URL(string: "https://nowhere.invalid")!])
  @State private var attempt = 1

  var body: some View {
    VStack {
      List(model.rows) { row in
        HStack {
          Text(row.url.absoluteString)
          Spacer()
          Text(row.text)
        }
      }
      if model.isMeasuring {
        ProgressView(value: model.fraction)
        Button("Cancel") { model.cancel() }
      } else if model.rows.contains(where: \.isMissing) {
        Button("Ask again for what is missing") { attempt += 1 }
      }
    }
    // SwiftUI cancels the task when the view disappears, and with it the operations.
    .task(id: attempt) { await model.measure() }
  }
}

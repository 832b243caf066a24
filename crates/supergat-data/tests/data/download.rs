//! Tests of downloads from a local server: complete, interrupted, redirected, missing and wrong files.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use supergat_data::Error;
use supergat_data::registry::download::download;
use supergat_data::registry::{Entry, RemoteFile, Unpack};

/// Answer of a server to the n-th request, for a path and a first byte.
type Answer = Box<dyn Fn(usize, &str, Option<usize>, &mut TcpStream) + Send + Sync>;

struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

fn serve(answer: Answer) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let path = lines.next().unwrap().unwrap().split(' ').nth(1).unwrap().to_owned();
            let rest: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let from = rest
                .iter()
                .find_map(|line| line.to_lowercase().strip_prefix("range: bytes=")?.strip_suffix('-')?.parse().ok());
            seen.lock().unwrap().push(format!("{path} {}", from.unwrap_or(0)));
            answer(count, &path, from, &mut stream);
        }
    });
    Server { address, requests }
}

/// Sends at most `cut` bytes of a body, beginning at `from`.
fn send(stream: &mut TcpStream, body: &[u8], from: Option<usize>, cut: usize) {
    let rest = &body[from.unwrap_or(0)..];
    let status = if from.is_some() { "206 Partial Content" } else { "200 OK" };
    let range =
        from.map_or(String::new(), |from| format!("Content-Range: bytes {from}-{}/{}\r\n", body.len() - 1, body.len()));
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{range}Connection: close\r\n\r\n", rest.len());
    // The client may have closed the connection.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&rest[..rest.len().min(cut)]));
}

const BODY: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const HASH: &str = "74e7e5bb9d22d6db26bf76946d40fff3ea9f0346b884fd0694920fccfad15e33";

fn entry(sha256: Option<&'static str>, unpack: Unpack) -> Entry {
    let file = RemoteFile { name: "a.bin", url: "http://127.0.0.1:9/nowhere", sha256, unpack };
    let files = Box::leak(Box::new([file]));
    Entry { name: "tiny", nodes: 2, edges: 1, features: 1, classes: 2, licence: "MIT", home: "", files }
}

/// Returns whether curl is installed.
fn curl() -> bool {
    let there = std::process::Command::new("curl").arg("--version").output().is_ok();
    if !there {
        println!("skipped: no curl");
    }
    there
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn downloads_a_file_after_a_redirect() {
    if !curl() {
        return;
    }
    let server = serve(Box::new(|_, path, from, stream| match path {
        "/tiny/a.bin" => {
            let head = "HTTP/1.1 302 Found\r\nLocation: /moved\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
        }
        _ => send(stream, BODY, from, usize::MAX),
    }));
    let root = tempfile::tempdir().unwrap();
    let mut last = (0, None);
    let place = download(&entry(Some(HASH), Unpack::Not), root.path(), Some(&server.address), |progress| {
        last = (progress.bytes, progress.total);
    })
    .unwrap();
    assert_eq!(std::fs::read(place.join("a.bin")).unwrap(), BODY);
    assert_eq!(last, (36, Some(36)));
    assert_eq!((names(root.path()), names(&place)), (vec!["tiny".to_owned()], vec!["a.bin".to_owned()]));
    assert_eq!(*server.requests.lock().unwrap(), ["/tiny/a.bin 0", "/moved 0"]);
    // A complete dataset is not downloaded again.
    download(&entry(Some(HASH), Unpack::Not), root.path(), Some("http://127.0.0.1:9"), |_| {}).unwrap();
}

#[test]
fn resumes_interrupted_connections() {
    if !curl() {
        return;
    }
    let server = serve(Box::new(|count, _, from, stream| send(stream, BODY, from, if count < 2 { 10 } else { 99 })));
    let root = tempfile::tempdir().unwrap();
    let place = download(&entry(Some(HASH), Unpack::Not), root.path(), Some(&server.address), |_| {}).unwrap();
    assert_eq!(std::fs::read(place.join("a.bin")).unwrap(), BODY);
    assert_eq!(*server.requests.lock().unwrap(), ["/tiny/a.bin 0", "/tiny/a.bin 10", "/tiny/a.bin 20"]);
}

#[test]
fn resumes_an_earlier_download() {
    if !curl() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let stingy = serve(Box::new(|count, _, from, stream| send(stream, BODY, from, if count == 0 { 10 } else { 0 })));
    let error = download(&entry(Some(HASH), Unpack::Not), root.path(), Some(&stingy.address), |_| {}).unwrap_err();
    assert!(matches!(error, Error::Download { .. }), "{error}");
    assert_eq!(names(root.path()), [".tiny.partial"]);
    let server = serve(Box::new(|_, _, from, stream| send(stream, BODY, from, 99)));
    download(&entry(Some(HASH), Unpack::Not), root.path(), Some(&server.address), |_| {}).unwrap();
    assert_eq!(*server.requests.lock().unwrap(), ["/tiny/a.bin 10"]);
}

#[test]
fn restarts_if_the_server_has_no_ranges() {
    if !curl() {
        return;
    }
    let server = serve(Box::new(|count, _, _, stream| send(stream, BODY, None, if count == 0 { 10 } else { 99 })));
    let root = tempfile::tempdir().unwrap();
    let place = download(&entry(Some(HASH), Unpack::Not), root.path(), Some(&server.address), |_| {}).unwrap();
    assert_eq!(std::fs::read(place.join("a.bin")).unwrap(), BODY);
}

#[test]
fn removes_wrong_files() {
    if !curl() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let wrong = serve(Box::new(|_, _, from, stream| send(stream, b"something else", from, 99)));
    let error = download(&entry(Some(HASH), Unpack::Not), root.path(), Some(&wrong.address), |_| {}).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("its SHA-256 is ") && error.contains(HASH), "{error}");
    assert!(names(&root.path().join(".tiny.partial")).is_empty());
    let missing = serve(Box::new(|_, _, _, stream| {
        stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    }));
    let error =
        download(&entry(None, Unpack::Not), root.path(), Some(&missing.address), |_| {}).unwrap_err().to_string();
    assert!(error.contains("/tiny/a.bin: the server answers 404"), "{error}");
    assert!(!root.path().join("tiny").exists());
}

#[test]
fn unpacks_archives_within_the_folder() {
    if !curl() {
        return;
    }
    let members = [
        ("d/x_edges.csv", b"1,2\n".to_vec()),
        ("d/../../evil", b"!".to_vec()),
        ("d/sub/y", b"y".to_vec()),
        ("other", b"o".to_vec()),
    ];
    let archive = crate::arrays::zip(&members);
    let server = serve(Box::new(move |_, _, from, stream| send(stream, &archive, from, usize::MAX)));
    let root = tempfile::tempdir().unwrap();
    let place = download(&entry(None, Unpack::Below("d")), root.path(), Some(&server.address), |_| {}).unwrap();
    assert_eq!(std::fs::read(place.join("x_edges.csv")).unwrap(), b"1,2\n");
    assert_eq!(names(&place), ["sub", "x_edges.csv"]);
    assert_eq!(names(root.path()), ["tiny"]);
    let root = tempfile::tempdir().unwrap();
    let some = Unpack::Members(&[("x_edges.csv", "edges.csv")]);
    let place = download(&entry(None, some), root.path(), Some(&server.address), |_| {}).unwrap();
    assert_eq!(names(&place), ["edges.csv"]);
    let root = tempfile::tempdir().unwrap();
    let none = Unpack::Members(&[("z.csv", "z.csv")]);
    let error = download(&entry(None, none), root.path(), Some(&server.address), |_| {}).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
    assert!(!root.path().join("tiny").exists());
}

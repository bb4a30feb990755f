//! Serves the figures of a guard to Prometheus, at http://127.0.0.1:9184/metrics or the address that is given:
//!
//! ```sh
//! cargo run -p twiceshy-store --example prometheus -- 127.0.0.1:9184
//! ```
//!
//! Your crate needs `twiceshy-store` with the feature `metrics`, `metrics` and `metrics-exporter-prometheus`. That has a server of its
//! own, too; this one has no thread between the guard and the answer, so every figure is as new as the request.

use metrics_exporter_prometheus::PrometheusBuilder;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use twiceshy_store::{Guard, Options, RedbStore};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let recorder = PrometheusBuilder::new().set_buckets(&[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0])?.build_recorder();
    let prometheus = recorder.handle();
    metrics::set_global_recorder(recorder)?;

    let folder = tempfile::tempdir()?;
    let guard = Options::new().name("blocked").open_folder(folder.path())?;
    guard.insert_all((0..10_000u32).map(|number| (number.to_be_bytes(), "scanned our ports")))?;

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9184".into());
    let listener = TcpListener::bind(&address)?;
    println!("http://{}/metrics", listener.local_addr()?);
    std::thread::scope(|threads| {
        threads.spawn(|| look_up_for_ever(&guard));
        for stream in listener.incoming().flatten() {
            // Just before the text is made. Nothing else need be done about the guard.
            guard.publish();
            prometheus.run_upkeep();
            // A client that goes away is no reason to stop.
            let _ = answer(stream, &prometheus.render());
        }
    });
    Ok(())
}

fn answer(mut stream: TcpStream, text: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    // Whatever was asked for, there is one answer.
    let _ = stream.read(&mut [0; 4096])?;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}

/// Some traffic: one key in a hundred is stored.
fn look_up_for_ever(guard: &Guard<RedbStore>) {
    for number in 0u32.. {
        let found = guard.contains(&(number.wrapping_mul(424_243) % 1_000_000).to_be_bytes());
        assert!(found.is_ok(), "{found:?}");
        std::thread::sleep(Duration::from_micros(20));
    }
}

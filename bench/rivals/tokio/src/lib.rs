//! What the rivals on tokio share: runtimes, and the protocol by which package main
//! runs a program.
//!
//! A program ends when its standard input ends, so it does not outlive the
//! program that started it.

use std::future::Future;
use std::io::{self, BufRead, Write};
use std::net::SocketAddr;

/// Runs a future on a runtime that uses the calling thread only.
pub fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// Runs a future on the calling thread, and the tasks that it spawns on so many
/// others.
pub fn run_on<F: Future>(threads: usize, future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// Prints a line and flushes it.
pub fn say(line: impl std::fmt::Display) {
    println!("{line}");
    io::stdout().flush().expect("standard output");
}

/// Prints the address of a server, and ends the program when standard input ends.
pub fn serving(address: SocketAddr) {
    say(address);
    std::thread::spawn(|| {
        let ended = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(i32::from(ended.is_err()));
    });
}

/// Answers each line on standard input with a line, until it ends.
pub fn answer(mut reply: impl FnMut(&str) -> u128) {
    for line in io::stdin().lock().lines() {
        say(reply(&line.expect("standard input")));
    }
}

/// Argument `n` as a number, or `otherwise` if there is none.
pub fn argument(n: usize, otherwise: u64) -> u64 {
    match std::env::args().nth(n) {
        Some(text) => text.parse().expect("a number"),
        None => otherwise,
    }
}

//! What the simulators share: the protocol by which package main asks them.

use std::io::{self, BufRead, Write};

/// Answers each line on standard input, split into words, with a number, until it ends.
pub fn answer(mut reply: impl FnMut(&[&str]) -> u64) {
    for line in io::stdin().lock().lines() {
        let line = line.expect("standard input");
        println!("{}", reply(&line.split(' ').collect::<Vec<_>>()));
        io::stdout().flush().expect("standard output");
    }
}

/// Word `n` of a line as a number.
pub fn number(words: &[&str], n: usize) -> u64 {
    words[n].parse().expect("a number")
}

//! Two programs with a mistake, and the same without it, in shuttle.
//!
//! Each line on standard input is "find program scheduler seed", whose answer is after
//! how many runs the mistake was found, or "time program scheduler runs", which runs the
//! program without its mistake so often.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as StdAtomicU64, Ordering::Relaxed};

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use shuttle::sync::{Condvar, Mutex};
use shuttle::{Config, Runner, thread};
use simulators::{answer, number};

/// After so many runs the search is given up.
const MOST: usize = 100_000;

fn main() {
    set_hook(Box::new(|_| {})); // a mistake that is found is a panic
    answer(|words| {
        let body = match words[1] {
            "sim-lost-update" => lost_update,
            "sim-signal" => signal,
            program => panic!("no program is called {program}"),
        };
        let value = number(words, 3);
        match words[0] {
            "find" => find(words[2], value, body),
            "time" => {
                run(words[2], 1, value as usize, move || body(true));
                value
            }
            question => panic!("no question is called {question}"),
        }
    });
}

/// How many runs it takes until the mistake is found, or MOST.
fn find(scheduler: &str, seed: u64, body: fn(bool)) -> u64 {
    let runs = Arc::new(StdAtomicU64::new(0));
    let count = runs.clone();
    let _ = catch_unwind(AssertUnwindSafe(|| {
        run(scheduler, seed, MOST, move || {
            count.fetch_add(1, Relaxed);
            body(false);
        })
    }));
    runs.load(Relaxed)
}

fn run(scheduler: &str, seed: u64, runs: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.failure_persistence = shuttle::FailurePersistence::None;
    match scheduler {
        "random" => Runner::new(RandomScheduler::new_from_seed(seed, runs), config).run(body),
        "pct" => Runner::new(PctScheduler::new_from_seed(seed, 3, runs), config).run(body),
        name => panic!("no scheduler is called {name}"),
    };
}

/// Two tasks add to a number, and one of them may not see what the other has added;
/// 18 tasks only take steps.
fn lost_update(fixed: bool) {
    let x = Arc::new(AtomicU64::new(0));
    let add = |after| {
        let x = x.clone();
        thread::spawn(move || {
            steps(after);
            if fixed {
                x.fetch_add(1, SeqCst);
                return;
            }
            let v = x.load(SeqCst);
            x.store(v + 1, SeqCst);
        })
    };
    let mut tasks = vec![add(3)];
    for _ in 0..18 {
        tasks.push(thread::spawn(|| steps(5)));
    }
    tasks.push(add(5));
    for task in tasks {
        task.join().expect("a thread");
    }
    assert_eq!(x.load(SeqCst), 2, "no update is lost");
}

/// Takes n steps, before each of which others may run.
fn steps(n: u64) {
    let own = AtomicU64::new(0);
    for _ in 0..n {
        own.load(SeqCst);
    }
}

/// A buffer for one value, with one condition for full and for empty, on which a signal
/// may wake the wrong one: then all wait for ever.
fn signal(fixed: bool) {
    let buffer = Arc::new((Mutex::new(false), Condvar::new()));
    let turns = [true, true, false, false].map(|to| {
        let buffer = buffer.clone();
        thread::spawn(move || {
            for _ in 0..2 {
                let mut full = buffer.0.lock().expect("a lock");
                while *full == to {
                    full = buffer.1.wait(full).expect("a lock");
                }
                *full = to;
                if fixed {
                    buffer.1.notify_all();
                } else {
                    buffer.1.notify_one();
                }
            }
        })
    });
    for turn in turns {
        turn.join().expect("a thread");
    }
}

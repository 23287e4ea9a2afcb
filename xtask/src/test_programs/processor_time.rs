//! The processor time of a process, so that one sees which test programs compute and which wait.

use std::fs;
use std::time::Duration;

/// Linux counts in hundredths of a second for programs, whatever the kernel itself counts in.
const TICK: Duration = Duration::from_millis(10);

/// What a process and the children that it has waited for took so far; none where there is no `/proc`, or no such process.
pub(super) fn of(process: u32) -> Option<Duration> {
    read(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The fields `utime`, `stime`, `cutime` and `cstime` of `/proc/PID/stat` (`proc_pid_stat(5)`). They are counted from behind the name of
/// the program, which may contain spaces and parentheses.
fn read(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let times = fields.split(' ').skip(11).take(4).map(str::parse::<u32>);
    let ticks = times.collect::<Result<Vec<u32>, _>>().ok().filter(|times| times.len() == 4)?;
    Some(TICK * ticks.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_and_that_of_children_is_added() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 900 800 0 0 150 20 1000 30 20 0 4 0 5000 0 0\n";
        assert_eq!(read(stat), Some(Duration::from_secs(12)));
        assert_eq!(read("7 (a) S 1 7 7 0 -1 4194560 900 800 0 0 150 20"), None);
        assert_eq!(read(""), None);
    }
}

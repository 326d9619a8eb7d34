//! What each thread has to have at the end of a join of threads: the partial results of all threads
//! of its group, each once. Threads are of one group if their coordinates differ on joined axes
//! alone, by less than what is joined there.

use loopwright_kernel_ir::PerDim;

use super::{parts::Content, run::Run};

/// All partial results of the groups of threads that have been asked for: threads of one group have
/// the same.
#[derive(Default)]
pub(super) struct Groups {
    all: Vec<(PerDim<usize>, Content)>,
}

impl Groups {
    /// The partial results of a thread's group.
    fn all(&mut self, run: &Run<'_>, thread: usize) -> &Content {
        let group = run.group(thread);
        let known = self.all.iter().position(|(of, _)| *of == group);
        let k = known.unwrap_or_else(|| {
            let members = (0..run.threads).filter(|other| run.group(*other) == group);
            self.all.push((group, Content::set(run.threads, members)));
            self.all.len() - 1
        });
        &self.all[k].1
    }
}

impl Run<'_> {
    /// What is wrong with the values that a thread has in the end.
    pub(super) fn differs(&self, thread: usize, groups: &mut Groups) -> Option<String> {
        for (number, holder) in &self.claimed.state {
            let mut some = false;
            for (_, values) in self.cells.iter().filter(|(cell, _)| cell.holder() == *holder) {
                some = true;
                let parts = match self.has_parts(values.at(thread), *number) {
                    Ok(parts) => parts,
                    Err(why) => return Some(why),
                };
                if let Content::Set { twice: Some(other), .. } = parts.content {
                    return Some(format!("has the partial result of thread {} twice", self.name(other)));
                }
                let all = groups.all(self, thread);
                if parts.content == *all {
                    continue;
                }
                for other in 0..self.threads {
                    match (parts.content.has(other), all.has(other)) {
                        (false, true) => {
                            return Some(format!("has no partial result of thread {}", self.name(other)));
                        }
                        (true, false) => {
                            let other = self.name(other);
                            return Some(format!(
                                "has the partial result of thread {other}, of another group"
                            ));
                        }
                        _ => {}
                    }
                }
            }
            // Nothing has been done with what each thread had.
            if !some && self.axes.iter().any(|(_, count)| *count > 1) {
                return Some("has only its own partial result".into());
            }
        }
        None
    }
}

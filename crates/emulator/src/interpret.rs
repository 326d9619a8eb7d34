//! The interpreter: runs a warp's code until it waits at a barrier or ends.
//!
//! Operations run in all lanes; the mask determines which lanes take effect and which may fault.
//! Guards and loops jump if no lane is left. The masks of enclosing statements are in slots
//! allocated at compile time, so nothing is looked up or allocated during execution. The compiler
//! has also checked registers, slots and jumps, which are used without further checks.

use loopwright_kernel_ir::DType;
use loopwright_program::{BinOp, Scope};

use crate::{
    block::{Block, Failure, Outcome, lowest},
    bytecode::{Class, DOUBLE, HALVE, Inst, Reg, is_wide},
    fault::{Act, FaultKind},
    lanes::{self, LaneFault},
    look_back::Looked,
    quick,
    shadow::MOST_SYNCS,
    warp::{State, Warp},
    words::{active, lanes_of, select},
};

impl<const W: usize> Block<'_, W> {
    /// Runs a warp until it waits at a barrier or ends.
    pub fn run_warp(&mut self, warp: &mut Warp<W>) -> Outcome<()> {
        let insts = &self.launch.code.insts[..];
        let limit = self.launch.options.max_steps;
        let mut pc = warp.pc as usize;
        let mut steps = self.steps;
        loop {
            steps += 1;
            if steps > limit {
                return Err(self.too_many(&format!("a block took more than {limit} steps")));
            }
            let inst = insts[pc];
            pc += 1;
            match inst {
                Inst::Move { wide, dst, src } => {
                    if wide {
                        warp.wide[dst as usize] = warp.wide[src as usize];
                    } else {
                        warp.narrow[dst as usize] = warp.narrow[src as usize];
                    }
                }
                Inst::MoveActive { wide, dst, src } => {
                    if wide {
                        let from = warp.wide[src as usize];
                        select(&mut warp.wide[dst as usize], &from, warp.mask);
                    } else {
                        let from = warp.narrow[src as usize];
                        select(&mut warp.narrow[dst as usize], &from, warp.mask);
                    }
                }
                Inst::Chosen { wide, dst, src, tally } => {
                    if wide {
                        warp.wide[dst as usize] = warp.wide[src as usize];
                    } else {
                        warp.narrow[dst as usize] = warp.narrow[src as usize];
                    }
                    let active = u64::from(warp.mask.count_ones());
                    for (class, times) in &self.launch.code.tallies[tally as usize] {
                        self.lanes[*class as usize] += active * times;
                        self.issued[*class as usize] += times;
                    }
                }
                Inst::Blend { wide, dst, c, a, b, class } => {
                    let mask = lanes_of(&warp.narrow[c as usize]);
                    if wide {
                        let mut out = warp.wide[b as usize];
                        select(&mut out, &warp.wide[a as usize], mask);
                        warp.wide[dst as usize] = out;
                    } else {
                        let mut out = warp.narrow[b as usize];
                        select(&mut out, &warp.narrow[a as usize], mask);
                        warp.narrow[dst as usize] = out;
                    }
                    self.count(class, warp.mask);
                }
                Inst::Binary { op, dtype, dst, a, b, class, exact, site } => {
                    self.count(class, warp.mask);
                    let (a, b) = (a as usize, b as usize);
                    if dst as usize != a
                        && dst as usize != b
                        && quick::binary_common(op, dtype, &mut warp.narrow, (dst as usize, a, b), exact)
                    {
                        continue;
                    }
                    let result = if !is_wide(dtype) {
                        let (x, y) = (&warp.narrow[a], &warp.narrow[b]);
                        lanes::binary_narrow(op, dtype, x, y, warp.mask, exact)
                            .map(|out| warp.narrow[dst as usize] = out)
                    } else if op.is_comparison() {
                        let out = lanes::compare_wide(op, dtype, &warp.wide[a], &warp.wide[b]);
                        warp.narrow[dst as usize] = out;
                        Ok(())
                    } else {
                        lanes::binary_wide(op, dtype, &warp.wide[a], &warp.wide[b], warp.mask, exact)
                            .map(|out| warp.wide[dst as usize] = out)
                    };
                    result.map_err(|fault| self.lane_fault(fault, warp, site))?;
                }
                Inst::Uniform { op, dtype, dst, a, b, class, exact, site } => {
                    self.count(class, warp.mask);
                    let (x, y) = (&warp.narrow[a as usize], &warp.narrow[b as usize]);
                    match quick::binary_scalar(op, x[0], y[0], exact) {
                        Some(value) => warp.narrow[dst as usize] = [value; W],
                        None => {
                            let result = lanes::binary_narrow(op, dtype, x, y, warp.mask, exact);
                            let out = result.map_err(|fault| self.lane_fault(fault, warp, site))?;
                            warp.narrow[dst as usize] = out;
                        }
                    }
                }
                Inst::Unary { op, dtype, dst, a, class, exact, site } => {
                    self.count(class, warp.mask);
                    let result = if is_wide(dtype) {
                        lanes::unary_wide(op, dtype, &warp.wide[a as usize], warp.mask, exact)
                            .map(|out| warp.wide[dst as usize] = out)
                    } else {
                        lanes::unary_narrow(op, dtype, &warp.narrow[a as usize], warp.mask, exact)
                            .map(|out| warp.narrow[dst as usize] = out)
                    };
                    result.map_err(|fault| self.lane_fault(fault, warp, site))?;
                }
                Inst::Cast { from, to, dst, src, class } => {
                    self.count(class, warp.mask);
                    let (dst, src) = (dst as usize, src as usize);
                    match (is_wide(from), is_wide(to)) {
                        (false, false) => {
                            warp.narrow[dst] = lanes::cast_narrow(from, to, &warp.narrow[src]);
                        }
                        (false, true) => warp.wide[dst] = lanes::cast_widen(from, to, &warp.narrow[src]),
                        (true, false) => {
                            warp.narrow[dst] = lanes::cast_shorten(from, to, &warp.wide[src]);
                        }
                        (true, true) => warp.wide[dst] = lanes::cast_wide(from, to, &warp.wide[src]),
                    }
                }
                Inst::Math { function, dtype, dst, args, class } => {
                    self.count(class, warp.mask);
                    let mask = warp.mask;
                    if !is_wide(dtype) {
                        let args = args.map(|a| &warp.narrow[a as usize]);
                        warp.narrow[dst as usize] = lanes::math_narrow(function, dtype, args, mask);
                    } else if function.gives_narrow() {
                        warp.narrow[dst as usize] =
                            lanes::classified_wide(function, &warp.wide[args[0] as usize]);
                    } else {
                        let args = args.map(|a| &warp.wide[a as usize]);
                        warp.wide[dst as usize] = lanes::math_wide(function, dtype, args, mask);
                    }
                }
                Inst::MathOfInt { function, dtype, dst, a, k, class } => {
                    self.count(class, warp.mask);
                    let (dst, a, k) = (dst as usize, a as usize, k as usize);
                    match is_wide(dtype) {
                        true => {
                            let values = lanes::math_of_int_wide(function, &warp.wide[a], &warp.narrow[k]);
                            warp.wide[dst] = values;
                        }
                        false => {
                            let values =
                                lanes::math_of_int_narrow(function, &warp.narrow[a], &warp.narrow[k]);
                            warp.narrow[dst] = values;
                        }
                    }
                }
                Inst::User { call, dst } => self.user(warp, call, dst)?,
                Inst::Shuffle { mode, width, wide, dst, value, operand, site } => {
                    self.shuffle(warp, mode, width, wide, (dst, value, operand), site)?;
                }
                Inst::Any { dst, value, site } => {
                    self.all_lanes(warp, site)?;
                    let some = lanes_of(&warp.narrow[value as usize]) & warp.mask != 0;
                    warp.narrow[dst as usize] = [u32::from(some); W];
                }
                Inst::Ballot { dst, value, site } => {
                    self.all_lanes(warp, site)?;
                    let have = lanes_of(&warp.narrow[value as usize]) & warp.mask;
                    match W as u32 <= u32::BITS {
                        true => warp.narrow[dst as usize] = [have as u32; W],
                        false => warp.wide[dst as usize] = [have; W],
                    }
                }
                Inst::LeadingZeros { wide, dst, src, class } => {
                    self.count(class, warp.mask);
                    warp.narrow[dst as usize] = match wide {
                        true => warp.wide[src as usize].map(u64::leading_zeros),
                        false => warp.narrow[src as usize].map(u32::leading_zeros),
                    };
                }
                Inst::Load { access, dst } => self.load(warp, access, dst)?,
                Inst::Store { access, src } => self.store(warp, access, src)?,
                Inst::Update { access, src } => self.update(warp, access, src)?,
                Inst::Lanes { slot } => {
                    warp.masks[slot as usize] = warp.mask;
                    warp.masks[slot as usize + 1] = warp.mask;
                }
                Inst::EachLane { slot, end } => {
                    let left = warp.masks[slot as usize + 1];
                    warp.mask = left & left.wrapping_neg();
                    warp.masks[slot as usize + 1] = left & !warp.mask;
                    if left == 0 {
                        pc = end as usize;
                    }
                }
                Inst::Held { access, dst } => self.held(warp, access, dst),
                Inst::Exchange { access, src, head } => {
                    self.exchange(warp, access, src);
                    pc = head as usize;
                }
                Inst::Matrices { to, from, count, row, transposed, site } => {
                    self.matrices(warp, (to, from), (count, row), transposed, site)?;
                }
                Inst::StoreMatrices { to, from, count, transposed, site } => {
                    self.store_matrices(warp, (to, from), count, transposed, site)?;
                }
                Inst::Product { number } => self.product(warp, number)?,
                Inst::VectorCopy { to, from, lanes } => self.vector_copy(warp, to, from, lanes)?,
                Inst::AsyncCopy { to, from, lanes, when } => {
                    let copied = when.map_or(warp.mask, |when| lanes_of(&warp.narrow[when as usize]));
                    self.issue(warp, (to, from), copied & warp.mask, lanes)?;
                }
                Inst::Commit => self.commit(warp),
                Inst::Wait { pending } => self.wait(warp, pending)?,
                Inst::Defined { slot, site } => {
                    let without = warp.mask & !warp.defined[slot as usize];
                    if without != 0 {
                        let lane = lowest(without);
                        let mut failure = self.failure(FaultKind::Uninitialised, warp, lane, site, Act::Read);
                        failure.fault.array = self.launch.code.sites[site as usize].about.clone();
                        return Err(failure);
                    }
                }
                Inst::Define { slot } => warp.defined[slot as usize] |= warp.mask,
                Inst::Undefine { slot } => warp.defined[slot as usize] &= !warp.mask,
                Inst::If { cond, slot, other } => {
                    let holds = lanes_of(&warp.narrow[cond as usize]);
                    warp.masks[slot as usize] = warp.mask;
                    warp.masks[slot as usize + 1] = warp.mask & !holds;
                    warp.mask &= holds;
                    if warp.mask == 0 {
                        pc = other as usize;
                    }
                }
                Inst::Else { slot, end } => {
                    warp.mask = warp.masks[slot as usize + 1];
                    if warp.mask == 0 {
                        pc = end as usize;
                    }
                }
                Inst::Restore { slot } => warp.mask = warp.masks[slot as usize],
                Inst::LoopEnter { slot } => warp.masks[slot as usize] = warp.mask,
                Inst::LoopTest { wide, uniform, var, upper, down, end } => {
                    let (var, upper) = (var as usize, upper as usize);
                    if uniform {
                        let (v, u) = (warp.narrow[var][0] as i32, warp.narrow[upper][0] as i32);
                        if !(if down { v > u } else { v < u }) {
                            warp.mask = 0;
                            pc = end as usize;
                        }
                        continue;
                    }
                    let test = if wide {
                        let op = if down { BinOp::Gt } else { BinOp::Lt };
                        lanes::compare_wide(op, DType::I64, &warp.wide[var], &warp.wide[upper])
                    } else {
                        below(&warp.narrow[var], &warp.narrow[upper], down)
                    };
                    warp.mask &= lanes_of(&test);
                    if warp.mask == 0 {
                        pc = end as usize;
                    }
                }
                Inst::LoopNext { wide, uniform, var, step, head, site } => {
                    if uniform {
                        let lanes = &mut warp.narrow[var as usize];
                        let v = i64::from(lanes[0] as i32);
                        if let Some(Ok(next)) = advanced(v, step).map(i32::try_from) {
                            *lanes = [next as u32; W];
                            pc = head as usize;
                            continue;
                        }
                    }
                    let overflow = if wide {
                        advance_wide(&mut warp.wide[var as usize], step, warp.mask)
                    } else {
                        advance_narrow(&mut warp.narrow[var as usize], step, warp.mask)
                    };
                    if let Some(lane) = overflow {
                        // Past the greatest integer: the loop would not terminate correctly.
                        return Err(self.failure(FaultKind::IndexOverflow, warp, lane, site, Act::Computes));
                    }
                    pc = head as usize;
                }
                Inst::Sync { scope, site } => {
                    if warp.mask != warp.exists && self.launch.options.checks.divergence {
                        return Err(self.divergent(FaultKind::DivergentBarrier(scope), warp, site));
                    }
                    match scope {
                        Scope::Warp => {
                            warp.syncs += 1;
                            self.counters.warp_syncs += 1;
                            if warp.syncs >= MOST_SYNCS {
                                let detail = "more synchronisations than the emulator can tell \
                                    apart";
                                return Err(self.too_many(detail));
                            }
                        }
                        Scope::Block => {
                            warp.state = State::Waiting(site);
                            break;
                        }
                    }
                }
                Inst::Publish { look } => {
                    self.publish(warp, look)?;
                    warp.state = State::Looking;
                    break;
                }
                Inst::Look { look, end } => match self.look(warp, look) {
                    Looked::Found => {}
                    Looked::Done => pc = end as usize,
                    Looked::Nothing => {
                        pc -= 1;
                        warp.state = State::Looking;
                        self.blocked = true;
                        break;
                    }
                },
                Inst::Jump { to } => pc = to as usize,
                Inst::Prefix { look } => self.prefix(warp, look),
                Inst::End => {
                    self.ends(warp)?;
                    warp.state = State::Ended;
                    break;
                }
            }
        }
        warp.pc = pc as u32;
        self.counters.steps += steps - self.steps;
        self.steps = steps;
        Ok(())
    }

    fn lane_fault(&self, fault: LaneFault, warp: &Warp<W>, site: u32) -> Box<Failure> {
        let (kind, lane) = match fault {
            LaneFault::DivisionByZero(lane) => (FaultKind::DivisionByZero, lane),
            LaneFault::Overflow(lane) => (FaultKind::IndexOverflow, lane),
        };
        self.failure(kind, warp, lane, site, Act::Computes)
    }

    #[inline]
    fn count(&mut self, class: Class, mask: u64) {
        self.lanes[class as usize] += u64::from(mask.count_ones());
        self.issued[class as usize] += 1;
    }

    fn user(&mut self, warp: &mut Warp<W>, call: u32, dst: Reg) -> Outcome<()> {
        self.count(Class::Function, warp.mask);
        let call = &self.launch.code.calls[call as usize];
        let Some(Some(closure)) = self.launch.closures.get(call.function) else { return Ok(()) };
        let mut args = Vec::with_capacity(call.args.len());
        for lane in active(warp.mask) {
            args.clear();
            for (dtype, reg) in &call.args {
                let word = if is_wide(*dtype) {
                    warp.wide[*reg as usize][lane]
                } else {
                    warp.narrow[*reg as usize][lane].into()
                };
                args.push(lanes::number(*dtype, word));
            }
            let result = closure(&args);
            if result.dtype() != call.result {
                let mut failure =
                    self.failure(FaultKind::MissingFunction, warp, lane, call.site, Act::Computes);
                failure.fault.detail = format!(
                    "the closure of `{}` returned a value of {} instead of {}",
                    self.launch.program.functions[call.function].name,
                    result.dtype(),
                    call.result
                );
                return Err(failure);
            }
            if is_wide(call.result) {
                warp.wide[dst as usize][lane] = result.bits();
            } else {
                warp.narrow[dst as usize][lane] = lanes::narrow_word(result);
            }
        }
        Ok(())
    }
}

fn below<const W: usize>(var: &[u32; W], upper: &[u32; W], down: bool) -> [u32; W] {
    let mut out = [0; W];
    for i in 0..W {
        let (v, u) = (var[i] as i32, upper[i] as i32);
        out[i] = u32::from(if down { v > u } else { v < u });
    }
    out
}

/// The value of a loop counter in the next iteration; `None` if it does not fit in 64 bits.
fn advanced(v: i64, step: i64) -> Option<i64> {
    match step {
        HALVE => Some(v / 2),
        DOUBLE => v.checked_mul(2),
        step => v.checked_add(step),
    }
}

fn advance_narrow<const W: usize>(var: &mut [u32; W], step: i64, mask: u64) -> Option<usize> {
    let step32 = i32::try_from(step).unwrap_or(i32::MAX);
    let mut any = step > i64::from(i32::MAX);
    let before = *var;
    for v in var.iter_mut() {
        let (next, over) = match step {
            HALVE => ((*v as i32) / 2, false),
            DOUBLE => (*v as i32).overflowing_mul(2),
            _ => (*v as i32).overflowing_add(step32),
        };
        any |= over;
        *v = next as u32;
    }
    if !any {
        return None;
    }
    active(mask).find(|lane| {
        let next = advanced(i64::from(before[*lane] as i32), step);
        next.is_none_or(|v| i32::try_from(v).is_err())
    })
}

fn advance_wide<const W: usize>(var: &mut [u64; W], step: i64, mask: u64) -> Option<usize> {
    let before = *var;
    let mut any = false;
    for v in var.iter_mut() {
        let next = advanced(*v as i64, step);
        any |= next.is_none();
        *v = next.map_or(*v, |next| next as u64);
    }
    if !any {
        return None;
    }
    active(mask).find(|lane| advanced(before[*lane] as i64, step).is_none())
}

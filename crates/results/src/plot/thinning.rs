//! Points of a line that nobody tells apart are left out.

/// At most four points for each unit across: where it enters, the lowest, the highest, where it leaves. Nobody sees more.
pub(super) fn thinned(line: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const FEW: usize = 2_000;
    if line.len() <= FEW {
        return apart(&line);
    }
    let mut thin = Vec::new();
    for column in line.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let low = column.iter().min_by(by_height);
        let high = column.iter().max_by(by_height);
        let mut kept: Vec<(f64, f64)> = [column.first(), low, high, column.last()]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        kept[1..3].sort_by(|a, b| a.0.total_cmp(&b.0));
        kept.dedup();
        thin.append(&mut kept);
    }
    thin
}

/// Of points that nobody tells apart the first and the last, so that a step stays upright.
fn apart(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const NEAR: f64 = 0.4;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (index, point) in line.iter().enumerate() {
        let is_near = |other: &(f64, f64)| {
            let last = kept.last();
            last.is_some_and(|last| {
                (other.0 - last.0).abs() < NEAR && (other.1 - last.1).abs() < NEAR
            })
        };
        let next = line.get(index + 1);
        if !is_near(point) || !next.is_some_and(is_near) {
            kept.push(*point);
        }
    }
    kept
}

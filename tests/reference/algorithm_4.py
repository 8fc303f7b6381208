"""Algorithm 4 of the paper, line by line."""

import numpy as np

from reference.greedy import greedy
from reference.joint import TIE, log_joint, sample


def algorithm_4(population, X, given, steps, uniforms):
    """Return the labels, by label, from the chains chosen (`steps`) and the uniform numbers of their draws."""
    answers = []
    for i in range(len(X)):
        x = X[i : i + 1]
        y = None  # y^(t1), a dictionary {label: class}
        for t1, j in enumerate(steps):
            s = population.chains[j]
            known = None if given is None else given[i : i + 1][:, list(s.order)]

            def p(z, s=s, x=x):
                return log_joint(s, x, np.array([[z[label] for label in s.order]]))[0]

            def draw(t2, s=s, x=x, t1=t1, known=known):
                drawn, _ = sample(s, x, known, uniforms[t1, t2][None, None])
                return dict(zip(s.order, drawn[0, 0].tolist(), strict=True))

            if t1 > 0:
                z = y
            else:
                z = dict(zip(s.order, greedy(s, x, known)[0][0].tolist(), strict=True))
            for t2 in range(uniforms.shape[1]):
                candidate = draw(t2)
                if p(candidate) > p(z) + TIE:
                    z = candidate
            y = z
        answers.append([y[label] for label in range(population.n_labels)])
    return np.array(answers, dtype=np.int32)

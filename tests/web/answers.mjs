/** What the modules of a page make of histories: reads {data, histories, n} and writes scores, best items and reasons. */
import { Features } from "../../src/hushrank/web/modules/features.mjs";
import { Model } from "../../src/hushrank/web/modules/model.mjs";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { data, histories, n } = JSON.parse(Buffer.concat(chunks).toString());
const model = new Model(data);
const features = new Features(data.features, data.ids.length);
const position = new Map(data.ids.map((id, j) => [id, j]));
const answers = histories.map((pairs) => {
  const ratings = new Map(pairs.map(([id, rating]) => [position.get(id), rating]));
  const fit = model.foldIn(ratings);
  const predicted = model.predict(fit);
  const best = model.best(predicted, ratings, n);
  const slopes = features.slopes(fit.z);
  return {
    best: best.map((j) => data.ids[j]),
    scores: best.map((j) => model.clip(predicted[j])),
    predicted: [...predicted].map((score) => model.clip(score)),
    reasons: best.map((j) => features.reasons(j, slopes)),
  };
});
process.stdout.write(JSON.stringify(answers));

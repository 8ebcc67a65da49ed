/**
 * Grades of Kokoro's voices by its authors, after the quality and the amount of the audio that each was trained on.
 * Source: VOICES.md of hexgrad/Kokoro-82M. Spanish and Portuguese voices have none.
 */

const GRADES = {
  A: "af_heart",
  "A-": "af_bella",
  "B-": "af_nicole bf_emma ff_siwis",
  "C+": "af_aoede af_kore af_sarah am_fenrir am_michael am_puck jf_alpha",
  C: "af_alloy af_nova bf_isabella bm_fable bm_george hf_alpha hf_beta hm_omega hm_psi if_sara im_nicola jf_gongitsune jf_tebukuro",
  "C-": "af_sky jf_nezumi jm_kumo",
  "D+": "bm_lewis",
  D:
    "af_jessica af_river am_echo am_eric am_liam am_onyx bf_alice bf_lily bm_daniel " +
    "zf_xiaobei zf_xiaoni zf_xiaoxiao zf_xiaoyi zm_yunjian zm_yunxi zm_yunxia zm_yunyang",
  "D-": "am_santa",
  "F+": "am_adam",
};
const RANKED = Object.entries(GRADES).flatMap(([grade, names]) => names.split(" ").map((name) => /** @type {const} */ ([name, grade])));
const GRADE_OF = new Map(RANKED);
const RANK_OF = new Map(Object.keys(GRADES).map((grade, rank) => [grade, rank]));

/** @param {string} name of a voice @returns {string} its grade, "A" to "F+", or "" */
export const gradeOf = (name) => GRADE_OF.get(name) ?? "";

/** Compare two voices: better grades first, voices without a grade last. @param {string} name @param {string} other */
export const compareGrades = (name, other) => rankOf(name) - rankOf(other);

/** @param {string} name */
const rankOf = (name) => RANK_OF.get(gradeOf(name)) ?? RANK_OF.size;

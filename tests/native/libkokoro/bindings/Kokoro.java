import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;

/** A bundle that speaks, for Java and Kotlin: over libkokoro by JNI (kokoro_jni.c). */
public final class Kokoro implements AutoCloseable {
  /** Samples are counted from the beginning of the text; text is what of it the word stands for. */
  public static final class Word {
    public final long start, end;
    public final String phonemes, text;

    Word(long start, long end, String phonemes, String text) {
      this.start = start;
      this.end = end;
      this.phonemes = phonemes;
      this.text = text;
    }
  }

  public static final class Piece {
    public final float[] audio;
    public final Word[] words;

    Piece(float[] audio, Word[] words) {
      this.audio = audio;
      this.words = words;
    }
  }

  static {
    System.loadLibrary("kokoro_jni");
  }

  private final long bundle;

  public Kokoro(String folder) {
    bundle = open(utf8(folder));
  }

  /** Says a text piece by piece: the first is heard while the others are still text. */
  public void say(String text, String voice, double speed, long seed, Consumer<Piece> hear) {
    byte[] bytes = utf8(text), source = Arrays.copyOf(bytes, bytes.length - 1);
    long plan = plan(bundle, bytes, utf8(voice), speed), samples = 0;
    try {
      for (Spoken spoken; (spoken = next(bundle, plan, seed)) != null; samples += spoken.audio.length) {
        Word[] words = new Word[spoken.phonemes.length];
        for (int i = 0; i < words.length; ++i) {
          int begin = (int) spoken.numbers[4 * i + 2], end = (int) spoken.numbers[4 * i + 3];
          String phonemes = new String(spoken.phonemes[i], StandardCharsets.UTF_8);
          String stands = new String(source, begin, end - begin, StandardCharsets.UTF_8);
          words[i] = new Word(samples + spoken.numbers[4 * i], samples + spoken.numbers[4 * i + 1], phonemes, stands);
        }
        hear.accept(new Piece(spoken.audio, words));
      }
    } finally {
      free(plan);
    }
  }

  @Override
  public void close() {
    close(bundle);
  }

  /** What kokoro_jni.c makes of a piece. numbers: of each word, its first and last sample and byte of the text. */
  private static final class Spoken {
    final float[] audio;
    final long[] numbers;
    final byte[][] phonemes;

    Spoken(float[] audio, long[] numbers, byte[][] phonemes) {
      this.audio = audio;
      this.numbers = numbers;
      this.phonemes = phonemes;
    }
  }

  /** With a 0 behind it. JNI's own functions for strings write another encoding than UTF-8. */
  private static byte[] utf8(String text) {
    return (text + "\0").getBytes(StandardCharsets.UTF_8);
  }

  private static void fail(byte[] reason) {
    throw new IllegalStateException(new String(reason, StandardCharsets.UTF_8));
  }

  private static native long open(byte[] folder);

  private static native long plan(long bundle, byte[] text, byte[] voice, double speed);

  private static native Spoken next(long bundle, long plan, long seed);

  private static native void free(long plan);

  private static native void close(long bundle);
}
